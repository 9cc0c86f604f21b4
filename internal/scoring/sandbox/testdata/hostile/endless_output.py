# prints without end
# ends: output
# bound: output
while True:
    print("x" * 1000)
