h, m = divmod(int(input()) % 1440, 60)
print(f"{h:02}:{m:02}")
