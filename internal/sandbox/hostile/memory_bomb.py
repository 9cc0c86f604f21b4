# takes memory until there is none
# ends: memory
hoard = []
while True:
    hoard.append(bytearray(1 << 24))
