# ignores every signal, and computes past the limit
# ends: time
# bound: CPU time
import signal
for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
