package vllm

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Key is what a server wants from those who ask it. No format shows it, and a client hides
// it in all that a server sends: see hider.
type Key string

func (Key) String() string { return hidden }

// GoString is that of the key in %#v.
func (Key) GoString() string { return hidden }

// MarshalText is that of the key in JSON.
func (Key) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Check says what is wrong with a key, without telling it; nil if nothing is.
func (k Key) Check() error {
	if strings.ContainsFunc(string(k), func(c rune) bool { return c <= ' ' || c > '~' }) {
		return errors.New("the key has blanks, line ends or other characters that no header has")
	}
	return nil
}

// hidden stands in place of a key.
const hidden = "…"

// shortKey is the length in bytes below which a key is a word, such as EMPTY, and no secret:
// it is hidden in refusals alone, as a whole word, since an answer may have the word too.
const shortKey = 8

// hider hides a key in what a server sends: as it is, and as JSON, URLs and HTML escape it.
type hider struct {
	key    []byte
	least  int    // bytes of the shortest part of the key that is hidden in a refusal
	anchor []byte // the longest part of the key that nothing escapes
}

// hider of the key; nil of none.
func (k Key) hider() *hider {
	if k == "" {
		return nil
	}
	h := &hider{key: []byte(k), least: min(len(k), max(shortKey, len(k)/3))}
	for run := range bytes.FieldsFuncSeq(h.key, isSpecial) {
		if len(run) > len(h.anchor) {
			h.anchor = run
		}
	}
	return h
}

// isSpecial reports whether a character may be escaped.
func isSpecial(c rune) bool {
	return !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '-' || c == '.')
}

// refusal is the text of a refusal without the key and without long parts of it.
func (h *hider) refusal(text string) string {
	if h == nil {
		return text
	}
	return string(h.hide([]byte(text), h.least))
}

// answer is an answer, or a part of one, without the key. Most come back as they are.
func (h *hider) answer(text []byte) []byte {
	if h == nil || len(h.key) < shortKey || !bytes.Contains(text, h.anchor) {
		return text
	}
	return h.hide(text, len(h.key))
}

// header hides the key in every field of the header of an answer or a refusal.
func (h *hider) header(header http.Header, refused bool) {
	for _, values := range header {
		for i, v := range values {
			if refused {
				values[i] = h.refusal(v)
			} else {
				values[i] = string(h.answer([]byte(v)))
			}
		}
	}
}

// cause is an error without the key. One that repeats it loses its own cause.
func (h *hider) cause(err error) error {
	if text := err.Error(); h.refusal(text) != text {
		return errors.New(h.refusal(text))
	}
	return err
}

// mostEscapes is how many escapes, one within another, a key is found in.
const mostEscapes = 3

// hide replaces parts of the key of at least so many bytes, escaped or not.
func (h *hider) hide(text []byte, least int) []byte {
	secret := make([]bool, len(text)) // by byte
	plain, at := text, make([]int, len(text)+1)
	for i := range at {
		at[i] = i
	}
	for range mostEscapes + 1 {
		for i := 0; i+least <= len(plain); i++ {
			if n := h.match(plain, i, least); n > 0 {
				for k := at[i]; k < at[i+n]; k++ {
					secret[k] = true
				}
				i += n - 1
			}
		}
		plain, at = unescape(plain, at)
	}
	if !slices.Contains(secret, true) {
		return text
	}
	var out []byte
	for i, c := range text {
		switch {
		case !secret[i]:
			out = append(out, c)
		case i == 0 || !secret[i-1]:
			out = append(out, hidden...)
		}
	}
	return out
}

// match is the length of the longest part of the key at i of a text, 0 if it is too short.
func (h *hider) match(text []byte, i, least int) (longest int) {
	first := text[i : i+least]
	for from := 0; ; from++ {
		k := bytes.Index(h.key[from:], first)
		if k < 0 {
			break
		}
		from += k
		n := least
		for i+n < len(text) && from+n < len(h.key) && text[i+n] == h.key[from+n] {
			n++
		}
		longest = max(longest, n)
	}
	if len(h.key) < shortKey && longest > 0 && (isWord(text, i-1) || isWord(text, i+longest)) {
		return 0
	}
	return longest
}

// isWord reports whether a word goes on at i.
func isWord(text []byte, i int) bool {
	return i >= 0 && i < len(text) && (text[i] >= utf8.RuneSelf || !isSpecial(rune(text[i])))
}

// entities are those of HTML that a key may have.
var entities = []struct {
	name string
	is   byte
}{{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}

// unescape undoes the escapes of JSON, URLs and HTML for single bytes. The result has its
// bytes where the text has theirs by was, with the end of the text last.
func unescape(text []byte, was []int) (plain []byte, at []int) {
	plain, at = make([]byte, 0, len(text)), make([]int, 0, len(text)+1)
	for i := 0; i < len(text); {
		c, n := unescapeOne(text[i:])
		plain, at = append(plain, c), append(at, was[i])
		i += n
	}
	return plain, append(at, was[len(text)])
}

// unescapeOne is the first byte of a text, and how many bytes it is written in.
func unescapeOne(text []byte) (c byte, n int) {
	number := func(from, to, base int) (byte, bool) {
		if to > len(text) {
			return 0, false
		}
		v, err := strconv.ParseUint(string(text[from:to]), base, 7)
		return byte(v), err == nil
	}
	switch text[0] {
	case '%':
		if v, ok := number(1, 3, 16); ok {
			return v, 3
		}
	case '\\':
		if len(text) > 1 && strings.IndexByte(`/"\'`, text[1]) >= 0 {
			return text[1], 2
		}
		if len(text) > 1 && text[1] == 'u' {
			if v, ok := number(2, 6, 16); ok {
				return v, 6
			}
		}
	case '&':
		for _, e := range entities {
			if bytes.HasPrefix(text, []byte(e.name)) {
				return e.is, len(e.name)
			}
		}
		end := bytes.IndexByte(text[:min(len(text), 8)], ';')
		if end > 2 && text[1] == '#' {
			from, base := 2, 10
			if text[2]|0x20 == 'x' {
				from, base = 3, 16
			}
			if v, ok := number(from, end, base); ok {
				return v, end + 1
			}
		}
	}
	return text[0], 1
}
