# prints without end
# ends: output
while True:
    print("x" * 1000)
