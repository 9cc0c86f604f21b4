# writes wherever it can
# prints: scratch only
# bound: files and processes of others
import os
written = []
for folder, folders, names in os.walk("/"):
    if folder.startswith(("/proc/", "/tmp")) and not folder.startswith("/proc/sys"):
        folders[:] = []
        continue
    if folder.count("/") > 3:
        folders[:] = []
    try:
        with open(os.path.join(folder, "new"), "w"):
            written.append(folder)
    except OSError:
        pass
    for name in names if folder.startswith("/proc/sys") or folder.count("/") < 3 else []:
        path = os.path.join(folder, name)
        try:
            with open(path, "r+b", 0) as file:
                if not folder.startswith("/dev"):
                    file.write(file.read(4096) or b"1")
                    written.append(path)
        except OSError:
            pass
open("new", "w").close()
print(written or "scratch only")
