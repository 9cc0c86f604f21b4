# looks for other processes
# prints: alone
# bound: files and processes of others
import os
seen = {name for name in os.listdir("/proc") if name.isdigit()} - {"1", str(os.getpid())}
print(seen or "alone")
