# computes in processes that are never waited for, since their parents ignore their ends
# ends: error
# bound: CPU time
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
start = time.monotonic()
while time.monotonic() - start < 30:
    read, write = os.pipe()
    if os.fork() == 0:
        begin = time.process_time()
        while time.process_time() - begin < 0.015:
            pass
        os._exit(0)
    os.close(write)
    os.read(read, 1)  # until it has ended
    os.close(read)
