# takes what the machine has few of, or one: watches of files, terminals, timers, locks, requests to disks
# prints: nothing
# bound: parts of the machine
import ctypes, fcntl, os, pty
libc = ctypes.CDLL(None, use_errno=True)
taken = []
if libc.inotify_init() >= 0 or libc.inotify_init1(0) >= 0:
    taken.append("watches")
if libc.fanotify_init(0x200, 0) >= 0:
    taken.append("watches of all files")
for open_terminal in (pty.openpty, lambda: os.open("/dev/ptmx", os.O_RDWR), lambda: os.open("/dev/pts/ptmx", os.O_RDWR)):
    try:
        open_terminal()
        taken.append("terminals")
    except OSError:
        pass
timer = ctypes.c_void_p()
timers = 0
while timers < 10_000 and libc.timer_create(0, None, ctypes.byref(timer)) == 0:
    timers += 1
if timers > 1000:
    taken.append("timers")
if libc.mlock(ctypes.create_string_buffer(1 << 22), ctypes.c_size_t(1 << 22)) == 0:
    taken.append("locked memory")
context = ctypes.c_ulong()
if libc.syscall({"x86_64": 206, "aarch64": 0}[os.uname().machine], 1000, ctypes.byref(context)) == 0:
    taken.append("requests to disks")
with open(os.__file__) as file:  # one of the machine
    for lock in (lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB), lambda: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB), lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)):
        try:
            lock()
            taken.append("locks")
        except OSError:
            pass
if libc.syncfs(0) == 0:
    taken.append("all disks")
print(taken or "nothing")
