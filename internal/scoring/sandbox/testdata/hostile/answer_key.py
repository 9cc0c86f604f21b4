# looks for the expected output: in files, in its memory, in the driver's, in the environment
# prints: nothing
# bound: verdicts
import os, sys
input()
path, first, second = input(), input(), input()
secret = (first + second).encode()
found = []
for folder, folders, names in os.walk("/"):
    if folder.startswith(("/dev", "/proc", "/usr/lib", "/lib", sys.base_prefix + "/lib")):
        folders[:] = []
        continue
    for name in names:
        try:
            with open(os.path.join(folder, name), "rb") as file:
                if secret in file.read(1 << 20):
                    found.append(name)
        except OSError:
            pass
for process in [name for name in os.listdir("/proc") if name.isdigit()]:
    for name in ("environ", "cmdline"):
        try:
            with open(f"/proc/{process}/{name}", "rb") as file:
                if secret in file.read():
                    found.append((process, name))
        except OSError:
            pass
    try:
        with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as memory:
            for line in maps:
                low, high = (int(part, 16) for part in line.split()[0].split("-"))
                if high - low > 1 << 28 or high > 1 << 63:
                    continue
                memory.seek(low)
                try:
                    content = memory.read(high - low)
                except OSError:
                    continue
                # Its own copies were put together from halves.
                if secret in content and process != str(os.getpid()):
                    found.append((process, "memory"))
                elif content.count(secret) > 8:
                    found.append((process, "memory"))
    except OSError:
        pass
for name in (path, "/etc/passwd", "/root/.ssh", "/home", os.path.dirname(path)):
    if os.path.exists(name):
        found.append(name)
print(found or "nothing")
