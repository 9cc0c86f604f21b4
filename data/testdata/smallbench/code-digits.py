def repeated_digit_sum(n):
    while n > 9:
        n = sum(map(int, str(n)))
    return n
