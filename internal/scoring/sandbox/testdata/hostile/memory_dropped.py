# takes shared pages and drops them from its own memory, where they stay without being resident
# ends: error
# bound: memory of no process
import mmap, os, time
def take():
    for _ in range(8):
        try:
            part = mmap.mmap(-1, 1 << 24)
        except OSError:
            with open("/dev/zero", "r+b", 0) as file:
                part = mmap.mmap(file.fileno(), 1 << 24)
        for at in range(0, 1 << 24, 4096):
            part[at] = 1
        part.madvise(mmap.MADV_DONTNEED)
        hoard.append(part)
hoard = []
for _ in range(30):
    take()
    if os.fork():
        time.sleep(100)
    hoard.clear()
