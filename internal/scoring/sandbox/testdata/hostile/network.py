# reaches out: to a server on this machine, and by every kind of socket
# prints: nobody there
# bound: network
import ctypes, os, socket
port = int(input())
reached = []
for family, address in [(socket.AF_INET, ("127.0.0.1", port)), (socket.AF_INET6, ("::1", port)), (socket.AF_INET, ("8.8.8.8", 53))]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            socket.socket(family, kind).connect(address)
            reached.append(address)
        except OSError:
            pass
for family in range(1, 60):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind).close()
            if family != socket.AF_UNIX:
                reached.append(("family", family))
        except OSError:
            pass
for name in ("/run", "/var/run", "/tmp/.X11-unix"):
    if os.path.exists(name):
        reached.append(name)
with open("/proc/net/dev") as file:
    reached += [line for line in file if ":" in line and "lo:" not in line]
print(reached or "nobody there")
