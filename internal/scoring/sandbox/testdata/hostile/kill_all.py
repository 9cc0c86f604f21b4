# kills everything that it may
# prints: still here
# bound: the driver
import os, time
if os.fork() == 0:
    time.sleep(10**6)
os.kill(-1, 9)  # all but itself
os.wait()
print("still here")
