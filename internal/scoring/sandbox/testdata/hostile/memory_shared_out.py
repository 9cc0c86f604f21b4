# takes memory in many processes that each stay within the limit
# ends: memory
# bound: memory
import os, time
for _ in range(30):
    if os.fork() == 0:
        hoard = bytearray(os.urandom(1 << 20)) * 100
        time.sleep(100)
time.sleep(100)
