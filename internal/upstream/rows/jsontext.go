package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonText reads the characters of a JSON string, escapes undone, piece by piece.
type jsonText struct {
	source  *source
	halved  bool // half of a surrogate pair was there, and U+FFFD given for it
	scratch [utf8.UTFMax]byte
}

var errHalved = errors.New(`holds half of a surrogate pair (\ud800 to \udfff), which is no character`)

// longestEscape is a character in two escapes of \u and four digits each.
const longestEscape = 12

// open passes over the quote at the beginning.
func (t *jsonText) open() { t.source.skip(1) }

// next gives the next piece, valid until something else is read of the source, and
// io.EOF after the quote at the end.
func (t *jsonText) next() ([]byte, error) {
	window := t.source.window(longestEscape)
	if len(window) == 0 {
		return nil, t.source.ended("a text")
	}
	if n := plainText(window); n > 0 {
		t.source.skip(n)
		return window[:n], nil
	}
	switch c := window[0]; {
	case c == '"':
		t.source.skip(1)
		return nil, io.EOF
	case c == '\\':
		return t.escape(window)
	case c == '\n':
		return nil, errors.New("the line ends within a text")
	case c < ' ':
		return nil, fmt.Errorf("a text holds the control character %q, which must be escaped", c)
	}
	if !utf8.FullRune(window) {
		return nil, t.source.ended("a text")
	}
	return nil, errors.New("a text is not valid UTF-8")
}

// plainText is the length of what stands for itself at the beginning of a text: no
// quote, escape, control character or half a character.
func plainText(text []byte) int {
	i := 0
	for i < len(text) {
		if len(text)-i >= 8 {
			if n := plainBytes(binary.LittleEndian.Uint64(text[i:])); n > 0 {
				i += n
				continue
			}
		}
		c := text[i]
		switch {
		case c < ' ' || c == '"' || c == '\\':
			return i
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				return i
			}
			i += size
		}
	}
	return i
}

// plainBytes is how many of eight bytes, the first one lowest, are ASCII and stand
// for themselves. In special the highest bit of every byte that does not is set;
// bits above the first such byte may be wrong.
func plainBytes(word uint64) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, escape := word^(ones*'"'), word^(ones*'\\')
	special := (word - ones*' ') | (quote - ones) | (escape - ones) | word
	return bits.TrailingZeros64(special&tops) / 8
}

// escape gives the character of the escape at the beginning of a window.
func (t *jsonText) escape(window []byte) ([]byte, error) {
	if len(window) < 2 {
		return nil, t.source.ended("a text")
	}
	length := 2
	var r rune
	switch c := window[1]; c {
	case '"', '\\', '/':
		r = rune(c)
	case 'b':
		r = '\b'
	case 'f':
		r = '\f'
	case 'n':
		r = '\n'
	case 'r':
		r = '\r'
	case 't':
		r = '\t'
	case 'u':
		var ok bool
		if r, ok = unicodeEscape(window); !ok {
			if len(window) < 6 {
				return nil, t.source.ended("a text")
			}
			return nil, fmt.Errorf(`a text holds the escape %q, want \u and four hexadecimal digits`, window[:6])
		}
		length = 6
		if utf16.IsSurrogate(r) {
			low, _ := unicodeEscape(window[6:])
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				t.halved = true
			} else {
				length = 12
			}
		}
	default:
		return nil, fmt.Errorf("a text holds the escape %q, which JSON does not have", window[:2])
	}
	t.source.skip(length)
	return utf8.AppendRune(t.scratch[:0], r), nil
}

// unicodeEscape reads \u and four digits.
func unicodeEscape(text []byte) (r rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
