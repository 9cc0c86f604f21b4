# makes itself root, in namespaces of its own
# prints: nobody
# bound: files and processes of others
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
done = []
for flag in (0x10000000, 0x00020000, 0x40000000, 0x20000000, 0x10020000):
    if libc.unshare(flag) == 0:
        done.append(hex(flag))
    if libc.syscall(56 if os.uname().machine == "x86_64" else 220, ctypes.c_long(flag | 17), 0, 0, 0, 0) == 0:
        os._exit(7)
if libc.mount(b"x", b"/tmp", b"tmpfs", 0, 0) == 0:
    done.append("mount")
for identity in (os.setuid, os.setgid):
    try:
        identity(0)
        done.append("root")
    except OSError:
        pass
print(done or ("nobody" if os.getuid() == 65534 else os.getuid()))
