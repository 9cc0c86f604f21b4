# has the kernel remember mappings without a page, and copies of them
# ends: memory error
# bound: memory
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for i in range(20_000):
    libc.mmap((1 << 40) + (i << 12), 4096, i % 2, 0x22 | 0x100000, -1, 0)
for _ in range(40):
    if os.fork() == 0:
        time.sleep(100)
time.sleep(100)
