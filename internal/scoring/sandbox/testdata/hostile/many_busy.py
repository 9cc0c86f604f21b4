# shares its work among processes that each stay within the limit
# ends: time
# bound: CPU time
import os
for _ in range(20):
    if os.fork() == 0:
        while True:
            pass
while True:
    pass
