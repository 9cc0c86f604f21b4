# sleeps past the limit
# ends: time
import time
time.sleep(10**6)
