# takes memory until there is none
# ends: memory
# bound: memory
hoard = []
while True:
    hoard.append(bytearray(1 << 24))
