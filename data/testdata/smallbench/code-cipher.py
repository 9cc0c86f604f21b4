def shift_letters(text, k):
    def shift(c):
        for first in "aA":
            if 0 <= ord(c) - ord(first) < 26:
                return chr((ord(c) - ord(first) + k) % 26 + ord(first))
        return c

    return "".join(map(shift, text))
