from itertools import groupby

print("".join(f"{len(list(run))}{c}" for c, run in groupby(input())))
