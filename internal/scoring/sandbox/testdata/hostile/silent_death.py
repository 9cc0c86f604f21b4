# ends by a signal that nobody sent
# ends: killed
# bound: the driver
import os
os.kill(os.getpid(), 9)
