package vllm

import (
	"errors"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Key is the key that a server requires of its clients. No format shows it, and a client
// hides it in all that a server sends: see hider.
type Key string

func (Key) String() string { return hidden }

// GoString hides the key in %#v.
func (Key) GoString() string { return hidden }

// MarshalText hides the key in JSON.
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

// hider hides a key in what a server sends.
type hider struct {
	short bool
	whole *regexp.Regexp // the key, as text, JSON, URLs and HTML write it
	parts *regexp.Regexp // it in any case, or a long beginning or end, as refusals shorten it
}

// hider of the key; nil of none.
func (k Key) hider() *hider {
	if k == "" {
		return nil
	}
	h := &hider{short: len(k) < shortKey}
	chars := make([]string, len(k))
	for i, c := range strings.Split(string(k), "") {
		for _, form := range slices.Compact([]string{c, url.QueryEscape(c), url.PathEscape(c), html.EscapeString(c)}) {
			chars[i] += "|" + regexp.QuoteMeta(form)
		}
		if chars[i] = chars[i][1:]; strings.Contains(`/"\`, c) {
			chars[i] = `\\{0,3}` + regexp.QuoteMeta(c) + "|" + chars[i] // as PHP writes it, once and twice
		}
		if strings.Contains(chars[i], "|") {
			chars[i] = "(?:" + chars[i] + ")"
		}
	}
	said := []string{strings.Join(chars, "")}
	h.whole = regexp.MustCompile(said[0])
	for n := len(k) - 1; n >= max(shortKey, len(k)/3); n-- { // the longest wins
		said = append(said, strings.Join(chars[:n], ""), strings.Join(chars[len(k)-n:], ""))
	}
	pattern := "(?i:" + strings.Join(said, "|") + ")" // %2f is %2F
	if h.short {
		pattern = `\b` + pattern + `\b`
	}
	h.parts = regexp.MustCompile(pattern)
	return h
}

// refusal is the text of a refusal without the key and without long parts of it.
func (h *hider) refusal(text string) string {
	if h == nil {
		return text
	}
	return h.parts.ReplaceAllLiteralString(text, hidden)
}

// answer is an answer, or a part of one, without the key. Most come back as they are.
func (h *hider) answer(text []byte) []byte {
	if h == nil || h.short || !h.whole.Match(text) {
		return text
	}
	return h.whole.ReplaceAllLiteral(text, []byte(hidden))
}
