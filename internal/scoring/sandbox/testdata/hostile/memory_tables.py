# takes page tables, by reading one page here and there, in many processes
# ends: memory error
# bound: memory
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for _ in range(12):
    if os.fork() == 0:
        for i in range(60_000):
            at = libc.mmap((1 << 40) + (i << 30), 4096, 1, 0x22 | 0x100000, -1, 0)
            if at == 2**64 - 1:
                break
            ctypes.c_byte.from_address(at).value  # the page of zeros, which no process owns
        time.sleep(100)
time.sleep(100)
