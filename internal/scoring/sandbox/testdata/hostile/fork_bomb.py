# forks as often as it can, in every process, for ever
# ends: time
# bound: CPU time
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
