def rotate(items, k):
    return [items[(i - k) % len(items)] for i in range(len(items))]
