n = int(input())
print(sum(int(x) ** 2 for x in (input().split() if n else [])))
