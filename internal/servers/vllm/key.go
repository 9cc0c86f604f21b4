package vllm

import (
	"errors"
	"html"
	"net/url"
	"regexp"
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
	word  *regexp.Regexp    // a short key; nil of others
	whole *strings.Replacer // the key, as text, JSON, URLs and HTML write it
	parts *strings.Replacer // it, or a long beginning or end, as refusals shorten it
}

// hider of the key; nil of none.
func (k Key) hider() *hider {
	switch {
	case k == "":
		return nil
	case len(k) < shortKey:
		return &hider{word: regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(string(k)) + `\b`)}
	}
	key, forms := string(k), []string(nil)
	for _, form := range []string{
		key, strings.ReplaceAll(key, "/", `\/`), strings.ReplaceAll(key, "/", `\\/`), // as PHP writes it, once and twice
		url.QueryEscape(key), url.PathEscape(key), html.EscapeString(key),
	} {
		forms = append(forms, form, hidden)
	}
	h := &hider{whole: strings.NewReplacer(forms...)}
	for n := len(key) - 1; n >= max(shortKey, len(key)/3); n-- { // the longest wins
		forms = append(forms, key[:n], hidden, key[len(key)-n:], hidden)
	}
	h.parts = strings.NewReplacer(forms...)
	return h
}

// refusal is the text of a refusal without the key and without long parts of it.
func (h *hider) refusal(text string) string {
	switch {
	case h == nil:
		return text
	case h.word != nil:
		return h.word.ReplaceAllLiteralString(text, hidden)
	}
	return h.parts.Replace(text)
}

// answer is an answer, or a part of one, without the key.
func (h *hider) answer(text []byte) []byte {
	if h == nil || h.word != nil {
		return text
	}
	return []byte(h.whole.Replace(string(text)))
}
