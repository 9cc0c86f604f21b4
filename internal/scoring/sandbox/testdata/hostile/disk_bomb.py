# writes files until the disk is full
# prints: full in time
# bound: files
import errno
total = 0
try:
    for i in range(10000):
        with open(str(i), "wb", buffering=0) as file:
            total += file.write(bytes(1 << 20))
except OSError as error:
    if error.errno == errno.ENOSPC and total < 200 << 20:
        open("0", "w").close()  # or there is no room to say so
        total = "full in time"
print(total)
