# leaves a process behind, in a session of its own
# prints: gone
# bound: processes
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            time.sleep(1)
    os._exit(0)
os.wait()
print("gone")
