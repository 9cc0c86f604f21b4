# makes empty files without end
# ends: files
# bound: files
i = 0
while True:
    open(str(i), "w").close()
    i += 1
