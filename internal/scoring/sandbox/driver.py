# Runs one program on its tests, one after another, as process 1 of a sandbox.
#
# It reads frames from standard input, a length of four bytes and so many bytes
# each: the source, the name of the function to call or nothing, and then for
# every test the CPU limit in milliseconds and the input. To each test it answers
# with two frames: how it ended, and the output. It ends when its input does.
#
# Every test gets a process forked from here, with limits that it cannot raise, and
# an empty scratch folder. This process watches what limits of a single process
# leave open, and kills all others before the next test. No process in here can
# stop or kill process 1.
import _thread
import ctypes
import gc
import resource
import select
import time

MEMORY, OUTPUT, FILES, PROCESSES, OPEN, PATIENCE = map(int, sys.argv[1:7])
sys.path[:] = [path for path in sys.path if path] + sys.argv[7:]
STACK = min(1 << 30, MEMORY // 2)  # bytes that a test has if it does not ask for more
PERIOD = 0.02  # seconds between two looks, on average
TICK = os.sysconf("SC_CLK_TCK")
MAPPING = 1 << 10  # bytes that the kernel has for a mapping, its pages and their tables not counted
NOBODY = 65534
SCRATCH = "/tmp"
FOLDER = SCRATCH + "/run"  # where a test starts
SIGINT, SIGKILL, SIG_IGN = 2, 9, 1
AF_UNIX, SOCK_STREAM, SOL_SOCKET, SO_SNDBUF = 1, 1, 1, 7
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
libc = ctypes.CDLL(None, use_errno=True)


def make_room():
    """Starts this process over if other memory lies where the stack of a test
    may grow to. The kernel draws the distance, and keeps to the limit that it
    finds at the start. Threads would have stacks of that size as well."""
    _thread.stack_size(8 << 20)
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    enough = STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)
    if soft == resource.RLIM_INFINITY or soft >= enough:
        return
    below = top = 0
    with open("/proc/self/maps") as file:
        for line in file:
            below, top = top, int(line.split()[0].partition("-")[2], 16)
            if line.endswith("[stack]\n"):
                break
    if top - below < enough + (2 << 20):  # and what the kernel leaves free
        resource.setrlimit(resource.RLIMIT_STACK, (enough, hard))
        with open("/proc/self/cmdline") as file:
            arguments = file.read().split("\0")[:-1]
        os.execv(arguments[0], arguments)


def harden():
    """Gives up what this process does not need, and hides it from the others."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    libc.signal(SIGINT, SIG_IGN)
    if libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    dumpable(0)


def dumpable(how):
    """Shows the memory of this process to the others of its user, or hides it."""
    if libc.prctl(PR_SET_DUMPABLE, how, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def read(count):
    data = bytearray()
    while len(data) < count:
        part = os.read(RECEIVE, min(count - len(data), 1 << 20))
        if not part:
            os._exit(0)
        data += part
    return bytes(data)


def receive():
    return read(int.from_bytes(read(4), "big"))


def write(fd, data):
    data = memoryview(data)
    while data:
        data = data[os.write(fd, data):]


def send(data):
    write(SEND, len(data).to_bytes(4, "big"))
    write(SEND, data)


def limit(seconds):
    """Sets the limits of the process of a test."""
    whole = -(-seconds // 1000) + 1  # the watch is faster
    for what, soft, hard in (
        (resource.RLIMIT_CPU, whole, whole + 1),
        (resource.RLIMIT_AS, MEMORY, MEMORY),
        (resource.RLIMIT_FSIZE, OUTPUT, OUTPUT),
        (resource.RLIMIT_NOFILE, OPEN, OPEN),
        (resource.RLIMIT_NPROC, PROCESSES, PROCESSES),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
        (resource.RLIMIT_SIGPENDING, 64, 64),  # of which timers take one each
        (resource.RLIMIT_STACK, STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]),  # may be raised: it is memory
    ):
        most = resource.getrlimit(what)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(what, (soft, hard))


def fields(path):
    with open(path, "rb") as file:
        return file.read().rpartition(b") ")[2].split()


def states(process):
    """The states of the threads of a process."""
    return {
        fields(f"/proc/{process}/task/{thread}/stat")[0]
        for thread in os.listdir(f"/proc/{process}/task")
    }


def value(text, name):
    """The bytes that a file of the kernel has under a name, 0 if it has none."""
    words = text.partition(b"\n" + name + b":")[2].split(None, 1)
    return 1024 * int(words[0]) if words else 0


def status(process):
    """What a process says of its memory, and the path of the thread that says it. The
    first one knows of none once it has ended; another one does."""
    for path in [f"/proc/{process}", *(f"/proc/{process}/task/{thread}" for thread in os.listdir(f"/proc/{process}/task"))]:
        with open(path + "/status", "rb") as file:
            text = file.read()
        if b"\nVmRSS:" in text:
            break
    return text, path


def memory(process):
    """Bytes of a process: resident ones, and others, those that were swapped out,
    the tables of its pages and its mappings."""
    text, path = status(process)
    return value(text, b"VmRSS"), value(text, b"VmSwap") + value(text, b"VmPTE") + MAPPING * mappings(path)


def mappings(path):
    """How many mappings a process has; of very many, or where it hides them, how many are
    too many."""
    most = MEMORY // MAPPING + 1
    count = 0
    try:
        with open(path + "/maps", "rb") as file:
            while count < most and (part := file.read(1 << 16)):
                count += part.count(b"\n")
    except PermissionError:
        return most
    return count


def proportional(process):
    """Resident bytes of a process, those that it shares counted in parts."""
    with open(f"/proc/{process}/smaps_rollup", "rb") as file:
        return value(file.read(), b"Pss")


def sockets():
    """How many sockets there are in here, held by processes or sent by them."""
    try:
        with open("/proc/net/sockstat", "rb") as file:
            return int(file.readline().split()[2])
    except OSError:
        return 0  # a kernel without them


def buffered():
    """Bytes that there may be in a socket: what it may send, and once more for the
    last message."""
    socket = libc.socket(AF_UNIX, SOCK_STREAM, 0)
    size = ctypes.c_int()
    if libc.getsockopt(socket, SOL_SOCKET, SO_SNDBUF, ctypes.byref(size), ctypes.byref(ctypes.c_int(4))):
        raise OSError(ctypes.get_errno(), "getsockopt")
    os.close(socket)
    return 2 * size.value


def look():
    """CPU seconds and bytes of memory of all processes but this one, and whether
    a thread runs or would like to ("awake"), or one waits in the kernel ("held"), or
    all sleep ("asleep")."""
    cpu, resident, other, seen = 0, {}, 0, set()
    for name in os.listdir("/proc"):
        if not name.isdigit() or name == "1":
            continue
        try:
            values = fields("/proc/" + name + "/stat")
            cpu += sum(map(int, values[11:15]))
            resident[name], more = memory(name)
            other += more
            if b"R" not in seen:
                seen |= states(name)
        except (OSError, IndexError):
            pass  # it has just ended
    other += max(0, sockets() - SOCKETS) * BUFFERED
    if sum(resident.values()) + other > MEMORY:  # what processes share is in there more than once
        for name in resident:
            try:
                resident[name] = proportional(name)
            except (OSError, IndexError):
                pass  # it hides that, or has just ended
    state = "awake" if b"R" in seen else "held" if b"D" in seen else "asleep"
    return cpu / TICK, sum(resident.values()) + other, state


def spent():
    """CPU seconds of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def watch(pid, seconds, before):
    """Waits for a process to end. Gives what was exceeded meanwhile, and its
    status, None if it has not ended. It looks at times that cannot be told before."""
    poll = select.poll()
    poll.register(RECEIVE, 0)  # tells when nobody is there any more
    ended = os.pidfd_open(pid)
    poll.register(ended, select.POLLIN)
    start = last = time.monotonic()
    slept, held = 0.0, False
    try:
        while True:
            period = PERIOD * (0.5 + os.urandom(1)[0] / 255)
            if any(fd == RECEIVE for fd, _ in poll.poll(period * 1000)):
                os._exit(0)
            status = reap(pid)
            if status is not None:
                return "", status
            alive, memory, state = look()
            now = time.monotonic()
            slept += min(now - last, 2 * PERIOD) if state != "awake" else 0
            held = held or state == "held"
            last = now
            scratch = os.statvfs(SCRATCH)
            if spent() - before + alive > seconds:
                return "time", None
            if slept > PATIENCE / 1000:
                return "wall" if held else "sleep", None  # a disk may have been slow
            if now - start > PATIENCE / 100 + 10:
                return "wall", None
            if memory > MEMORY:
                return "memory", None
            if scratch.f_files - scratch.f_ffree > FILES:
                return "files", None
    finally:
        os.close(ended)


def reap(pid):
    """Waits for those that have ended, and gives the status of pid if it is one
    of them, None otherwise."""
    while True:
        got, status = os.waitpid(-1, os.WNOHANG)
        if got in (0, pid):
            return status if got else None


def sweep():
    """Ends all other processes."""
    try:
        os.kill(-1, SIGKILL)
        while True:
            os.waitpid(-1, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def outcome(exceeded, status, report, size, late):
    """How a test ended, in one word, and what else there is to say."""
    how, _, text = report.partition(b"\n")
    if exceeded:
        return exceeded, b""
    if size >= OUTPUT:
        return "output", b""
    if late:
        return "time", b""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return ("killed", b"") if number == SIGKILL else ("signal", b"%d" % number)
    return (how.decode(), text) if how in (b"error", b"memory", b"result") else ("exit", b"")


def content(fd):
    size = os.fstat(fd).st_size
    data = bytearray()
    while len(data) < min(size, OUTPUT):
        part = os.pread(fd, 1 << 20, len(data))
        if not part:
            break
        data += part
    return bytes(data)


def clear():
    """Empties the scratch folder. Folders in folders come up first, for they may be
    nested deeper than names can be long."""
    if os.stat(SCRATCH).st_mode & 0o7777 != 0o1777:
        os.chmod(SCRATCH, 0o1777)
    while entries := list(os.scandir(SCRATCH)):
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            for inner in list(os.scandir(entry.path)):
                if inner.is_dir(follow_symlinks=False):
                    os.chmod(inner.path, 0o700)
                    os.rename(inner.path, f"{SCRATCH}/{os.urandom(8).hex()}")
                else:
                    os.unlink(inner.path)
            os.rmdir(entry.path)


def test(run, quick):
    """Runs one test; True in its process, once the program has ended
    and the interpreter should."""
    seconds, data = read_test()
    clear()  # should that fail, there is another sandbox
    os.mkdir(FOLDER)
    files = [os.open(SCRATCH, os.O_TMPFILE | os.O_RDWR, 0o600) for _ in range(3)]
    write(files[0], data)
    os.lseek(files[0], 0, os.SEEK_SET)
    before = spent()
    pid = begin()
    if pid == 0:
        os.setsid()
        os.chdir(FOLDER)
        for fd, target in zip([files[0], files[1], NULL, files[2]], range(4)):
            os.dup2(fd, target)
        os.closerange(4, OPEN)
        limit(seconds)
        run()
        if quick:
            flush()
            os._exit(0)
        return True
    exceeded, status = watch(pid, seconds / 1000, before)
    sweep()
    cpu = spent() - before
    report = content(files[2])
    how, text = outcome(exceeded, status, report, os.fstat(files[1]).st_size, cpu > seconds / 1000)
    send(b"%s %d\n%s" % (how.encode(), cpu * 1000, b"" if how == "result" else text))
    send(text if how == "result" else content(files[1]) if how == "exit" else b"")
    for fd in files:
        os.close(fd)
    return False


def begin():
    """Forks a process whose memory may be measured from its first moment on. That of this
    process may not, once the other goes on."""
    wait, go = os.pipe()
    dumpable(1)
    pid = os.fork()
    if pid:
        dumpable(0)
    os.close(go)
    if not pid:
        os.read(wait, 1)  # its end
    os.close(wait)
    return pid


def read_test():
    frame = receive()
    return int.from_bytes(frame[:8], "big"), frame[8:]


def serve():
    send(b"ready")
    source, function = receive().decode(), receive().decode()
    words = vocabulary(source)
    names, quick = prelude(words), tidy(words)
    if function:
        __import__("json")
    gc.freeze()
    while not test(lambda: run(source, function, names), quick):
        pass


make_room()
RECEIVE, SEND, NULL = os.dup(0), os.dup(1), os.open("/dev/null", os.O_RDWR)
for standard in (0, 1):
    os.dup2(NULL, standard)
harden()
SOCKETS, BUFFERED = sockets(), buffered()
serve()
