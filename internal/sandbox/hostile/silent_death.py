# ends by a signal that nobody sent
# ends: killed
import os
os.kill(os.getpid(), 9)
