# computes in processes that are never waited for, by a flag of a handler for their ends
# ends: error
# bound: CPU time
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: None)
action = (ctypes.c_uint64 * 40)()
action[0] = ctypes.cast(handler, ctypes.c_void_p).value
action[17] = 2 | 0x10000000  # SA_NOCLDWAIT, SA_RESTART
if libc.sigaction(17, action, None):
    raise OSError(ctypes.get_errno(), "sigaction")
start = time.monotonic()
while time.monotonic() - start < 30:
    read, write = os.pipe()
    if os.fork() == 0:
        begin = time.process_time()
        while time.process_time() - begin < 0.015:
            pass
        os._exit(0)
    os.close(write)
    os.read(read, 1)
    os.close(read)
