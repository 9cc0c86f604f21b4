from collections import Counter

for word, number in sorted(Counter(input().split()).items()):
    print(word, number)
