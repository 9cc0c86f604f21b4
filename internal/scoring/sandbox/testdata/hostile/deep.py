# nests calls until the stack is full
# ends: signal error
# bound: memory
import sys
sys.setrecursionlimit(10**9)
class A:
    def __repr__(self):
        return repr(self)
repr(A())
