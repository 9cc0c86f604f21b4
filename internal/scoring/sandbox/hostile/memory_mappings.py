# has the kernel remember mappings without a page, in many processes, some without a first thread
# ends: memory error time
# bound: memory
import ctypes, os, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
def take(many):
    time.sleep(0.1)  # until the first thread has ended
    for i in range(many):
        if libc.mmap((1 << 40) + (i << 12), 4096, i % 2, 0x22 | 0x100000, -1, 0) == 2**64 - 1:
            break
    time.sleep(100)
for _ in range(20):
    if os.fork() == 0:
        threading.Thread(target=take, args=(60_000,)).start()
        libc.pthread_exit(None)
time.sleep(100)
