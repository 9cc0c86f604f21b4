open_brackets = []
ok = True
for c in input():
    if c in "([{":
        open_brackets.append(c)
    elif not open_brackets or open_brackets.pop() + c not in ("()", "[]", "{}"):
        ok = False
print("yes" if ok and not open_brackets else "no")
