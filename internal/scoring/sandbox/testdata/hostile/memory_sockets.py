# keeps memory in the buffers of sockets, of many processes
# ends: memory error
# bound: memory
import os, socket, time
def fill():
    kept = []
    try:
        while True:
            pair = socket.socketpair()
            kept.append(pair)
            for end in pair:
                end.setblocking(False)
                try:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
                except OSError:
                    pass
                try:
                    while True:
                        end.send(bytes(1 << 16))
                except BlockingIOError:
                    pass
    except OSError:
        pass
    time.sleep(100)
for _ in range(40):
    if os.fork() == 0:
        fill()
fill()
