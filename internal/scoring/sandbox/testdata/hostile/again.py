# takes so long that it is run again, and looks for what its first run has left
# prints: first
# bound: verdicts
import os
first = os.stat(".").st_ino < 500 and os.getpid() < 50
for i in range(1000):
    open(str(i), "w").close()
    os.unlink(str(i))
for _ in range(60):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
while sum(os.times()[:4]) < 0.405:
    pass
print("first" if first else "again")
