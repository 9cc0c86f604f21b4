# looks for other processes
# prints: alone
import os
seen = {name for name in os.listdir("/proc") if name.isdigit()} - {"1", str(os.getpid())}
print(seen or "alone")
