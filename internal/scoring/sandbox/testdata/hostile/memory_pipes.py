# keeps memory in pipes: pages that were given to them, and long ones
# prints: not kept
# bound: memory of no process
import ctypes, fcntl, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
kept = []
read, write = os.pipe()
try:
    fcntl.fcntl(write, 1031, 1 << 20)  # F_SETPIPE_SZ
    kept.append("long")
except OSError:
    pass
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE)
page[:] = b"x" * 4096
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
if libc.vmsplice(write, ctypes.byref(Part(address, 4096)), 1, 0) > 0:
    kept.append("given")
with open("file", "wb+") as file:
    file.write(bytes(4096))
    file.flush()
    if libc.splice(file.fileno(), ctypes.byref(ctypes.c_long(0)), write, None, 4096, 0) > 0:
        kept.append("of a file")
print(kept or "not kept")
