from functools import cache

h, w = map(int, input().split())
grid = [list(map(int, input().split())) for _ in range(h)]


@cache
def least(i, j):
    ways = [least(a, b) for a, b in ((i - 1, j), (i, j - 1)) if a >= 0 and b >= 0]
    return grid[i][j] + min(ways, default=0)


print(least(h - 1, w - 1))
