# keeps memory where it belongs to no process
# prints: nowhere
# bound: memory of no process
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
found = []
if libc.shmget(0, ctypes.c_size_t(1 << 24), 0o1600) != -1:
    found.append("shared memory")
if libc.msgget(0, 0o1600) != -1:
    found.append("messages")
for make in (lambda: os.memfd_create("x"), lambda: open("/dev/shm/x", "w"), lambda: open("/dev/x", "w")):
    try:
        make()
        found.append("a file")
    except OSError:
        pass
print(found or "nowhere")
