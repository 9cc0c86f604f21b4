# takes what there is a number of on the whole machine: watches of files, terminals, timers
# prints: nothing
# bound: parts of the machine
import ctypes, os, pty
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
if libc.syncfs(0) == 0:
    taken.append("all disks")
print(taken or "nothing")
