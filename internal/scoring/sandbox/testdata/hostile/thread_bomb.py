# starts as many threads as it can
# prints: fewer than 64
# bound: processes
import threading, time
threading.stack_size(1 << 16)
n = 1
try:
    while n < 1000:
        threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
        n += 1
except RuntimeError:
    pass
print("fewer than 64" if 10 < n < 64 else n)
