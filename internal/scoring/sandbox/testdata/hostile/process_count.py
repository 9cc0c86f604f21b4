# counts how many processes it can have at a time
# prints: fewer than 64
# bound: processes
import os, time
n = 1
try:
    while n < 1000:
        if os.fork() == 0:
            time.sleep(100)
        n += 1
except OSError:
    pass
print("fewer than 64" if 10 < n < 64 else n)
