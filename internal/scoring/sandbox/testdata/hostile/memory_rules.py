# has the kernel keep rules for it: of Landlock, of seccomp, attributes of files
# prints: nothing
# bound: memory of no process
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
kept = []
rights = ctypes.c_uint64(1)
if libc.syscall(444, ctypes.byref(rights), 8, 0) >= 0:
    kept.append("rules of Landlock")
allow = (ctypes.c_uint16 * 4)(6, 0, 0, 0x7FFF)
program = (ctypes.c_uint64 * 2)(1, ctypes.addressof(allow))
if libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0 or libc.syscall({"x86_64": 317, "aarch64": 277}[os.uname().machine], 1, 0, ctypes.byref(program)) == 0:
    kept.append("filters")
open("file", "w").close()
value = ctypes.create_string_buffer(60_000)
at = (ctypes.c_uint64 * 2)(ctypes.addressof(value), 60_000)  # and no flags
if libc.setxattr(b"file", b"user.x", value, 60_000, 0) == 0 or libc.syscall(463, -100, b"file", 0, b"user.x", ctypes.byref(at), 16) == 0:
    kept.append("attributes")
print(kept or "nothing")
