# takes memory in many processes whose first threads have ended, which have none by their names
# ends: memory
# bound: memory
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
def take():
    time.sleep(0.1)  # until the first thread has ended
    hoard = bytearray(os.urandom(1 << 20)) * 100
    time.sleep(4)
for _ in range(20):
    if os.fork() == 0:
        threading.Thread(target=take).start()
        libc.pthread_exit(None)
time.sleep(4)
