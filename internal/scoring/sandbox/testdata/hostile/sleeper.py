# sleeps past the limit
# ends: time
# bound: waiting
import time
time.sleep(10**6)
