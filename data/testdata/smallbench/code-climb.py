def longest_climb(values):
    best = now = 0
    for i, v in enumerate(values):
        now = now + 1 if i and v > values[i - 1] else 1
        best = max(best, now)
    return best
