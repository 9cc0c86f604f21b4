package vllm

import (
	"bytes"
	"errors"
	"strings"
)

// Key is the key that a server requires of its clients. No format shows it, and a client
// hides it in all that a server sends.
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

// shortKey is the length in bytes below which a key is a word, such as EMPTY, and no secret.
const shortKey = 8

// hide returns what a server says without the key.
func (k Key) hide(said []byte) []byte {
	if len(k) < shortKey || !bytes.Contains(said, []byte(k)) {
		return said
	}
	return bytes.ReplaceAll(said, []byte(k), []byte(hidden))
}
