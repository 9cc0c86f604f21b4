# prints to standard error without end
# ends: time
# bound: CPU time
import sys
while True:
    sys.stderr.write("x" * 1000)
