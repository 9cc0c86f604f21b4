# waits for a child and a thread that sleep past the limit
# ends: time
# bound: waiting
import os, threading, time
threading.Thread(target=time.sleep, args=(10**6,)).start()
if os.fork() == 0:
    time.sleep(10**6)
os.wait()
