# stops itself
# ends: time
import os, signal
os.kill(os.getpid(), signal.SIGSTOP)
