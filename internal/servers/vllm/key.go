package vllm

import (
	"bytes"
	"cmp"
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
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

// hider hides a key in what a server sends.
type hider struct {
	short bool
	forms []string       // of the key, as text, JSON, URLs and HTML write it
	said  *regexp.Regexp // a form, or a long beginning or end of the key, as refusals shorten it
}

// hider of the key; nil of none.
func (k Key) hider() *hider {
	if k == "" {
		return nil
	}
	key, h := string(k), &hider{short: len(k) < shortKey}
	for _, form := range []string{key, url.QueryEscape(key), url.PathEscape(key), html.EscapeString(key)} {
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(form)
		h.forms = append(h.forms, form, quoted, strings.ReplaceAll(quoted, "/", `\/`), strings.ReplaceAll(quoted, "/", `\\/`)) // as PHP does, once and twice
	}
	h.forms = slices.Compact(slices.Sorted(slices.Values(h.forms)))
	said := slices.Clone(h.forms)
	for n := len(key) - 1; n >= max(shortKey, len(key)/3); n-- {
		said = append(said, key[:n], key[len(key)-n:])
	}
	slices.SortStableFunc(said, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // the longest wins
	for i, form := range said {
		said[i] = regexp.QuoteMeta(form)
	}
	pattern := "(?i:" + strings.Join(said, "|") + ")" // %2f is %2F
	if h.short {
		pattern = `\b` + pattern + `\b`
	}
	h.said = regexp.MustCompile(pattern)
	return h
}

// refusal is the text of a refusal without the key and without long parts of it.
func (h *hider) refusal(text string) string {
	if h == nil {
		return text
	}
	return h.said.ReplaceAllLiteralString(text, hidden)
}

// answer is an answer, or a part of one, without the key. Most come back as they are.
func (h *hider) answer(text []byte) []byte {
	if h == nil || h.short {
		return text
	}
	for _, form := range h.forms {
		if bytes.Contains(text, []byte(form)) {
			text = bytes.ReplaceAll(text, []byte(form), []byte(hidden))
		}
	}
	return text
}

// header hides the key in every field of the header of an answer or a refusal.
func (h *hider) header(header http.Header, refused bool) {
	for _, values := range header {
		for i, v := range values {
			if values[i] = string(h.answer([]byte(v))); refused {
				values[i] = h.refusal(v)
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
