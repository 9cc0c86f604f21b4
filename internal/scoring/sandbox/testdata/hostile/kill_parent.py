# kills, stops, slows and rewrites the driver, and all that it sees
# prints: still here
# bound: the driver
import ctypes, os, resource, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
libc = ctypes.CDLL(None, use_errno=True)
done = []
for target in (1, os.getppid(), -os.getpgid(1) if os.getpgid(1) > 1 else 1):
    for number in (9, 19, 2, 15, 11, 6, 17, 24):
        try:
            os.kill(target, number)
        except OSError:
            pass
for name, attack in {
    "limit": lambda: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0)),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
    "scheduler": lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
    "memory": lambda: open("/proc/1/mem", "r+b"),
    "out of memory": lambda: open("/proc/1/oom_score_adj", "w").write("1000"),
}.items():
    try:
        attack()
        done.append(name)
    except OSError:
        pass
if libc.ptrace(16, 1, 0, 0) != -1:
    done.append("trace")
print(done or "still here")
