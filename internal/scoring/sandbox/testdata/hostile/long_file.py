# writes a file that never ends
# prints: 32 MiB
# bound: files
import errno, os
try:
    with open("x", "wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 20))
except OSError as error:
    print(os.stat("x").st_size >> 20, "MiB" if error.errno == errno.EFBIG else error)
