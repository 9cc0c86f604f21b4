# stops itself
# ends: time
# bound: waiting
import os, signal
os.kill(os.getpid(), signal.SIGSTOP)
