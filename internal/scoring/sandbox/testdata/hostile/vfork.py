# waits in the kernel for a process that sleeps, which is no sleep by name
# ends: time
# bound: waiting
import ctypes
libc = ctypes.CDLL(None)
stack = ctypes.create_string_buffer(1 << 16)
top = ctypes.c_void_p((ctypes.addressof(stack) + (1 << 16)) & ~15)
for _ in range(20):
    libc.clone(libc.usleep, top, 0x4000 | 0x100 | 17, ctypes.c_void_p(500_000))
