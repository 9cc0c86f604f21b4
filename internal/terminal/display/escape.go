package display

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Escaped and EscapedLine write text that comes from outside, such as what servers, models and task
// files say, so that it does nothing but be read: no terminal obeys it, no line of it
// passes for one of ours, and no part of it is displayed in another order.
//
// What is escaped is written as in JSON, so that a JSON document says the same afterwards:
// control characters, marks that change the direction of text and other invisible ones,
// separators of lines and paragraphs. Bytes that are not UTF-8 are written as \xff.
// Letters, signs and emoji of all languages stay, with the joiners that they need.

// Escaped is text of several lines: line ends and tabs stay.
func Escaped(s string) string { return escaped(s, true) }

// EscapedLine is text that is part of one line.
func EscapedLine(s string) string { return escaped(s, false) }

func escaped(s string, lines bool) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if plain(r, n, lines) || lines && strings.HasPrefix(s, "\r\n") {
			b.WriteString(s[:n])
		} else {
			b.WriteString(escape(r, s[:n]))
		}
		s = s[n:]
	}
	return b.String()
}

// Marks that join letters and parts of emoji.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// plain reports whether a character of n bytes is written as it is.
func plain(r rune, n int, lines bool) bool {
	switch {
	case r >= ' ' && r < 0x7f:
		return true
	case r == '\n' || r == '\t':
		return lines
	case r == utf8.RuneError && n <= 1, unicode.Is(unicode.Cc, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return false
	case unicode.Is(unicode.Cf, r):
		return r == nonJoiner || r == joiner
	}
	return true
}

// escape is the escape sequence of a character.
func escape(r rune, bytes string) string {
	switch {
	case r == utf8.RuneError:
		return fmt.Sprintf(`\x%02x`, bytes[0])
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r > 0xffff:
		high := 0xd800 + (r-0x10000)>>10
		return fmt.Sprintf(`\u%04x\u%04x`, high, 0xdc00+(r-0x10000)&0x3ff)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// EscapingWriter writes text as Escaped returns it. A character that comes in several writes
// is written with its last byte, and so is the end of a line. Several goroutines may write.
type EscapingWriter struct {
	w    io.Writer
	mu   sync.Mutex
	held []byte // the beginning of a character or of the end of a line
}

// NewEscapingWriter makes a writer that writes to w.
func NewEscapingWriter(w io.Writer) *EscapingWriter { return &EscapingWriter{w: w} }

// Write writes p. After an error it is not known how much of it was written.
func (w *EscapingWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.held, p...)
	end := len(text)
	if end > 0 && text[end-1] == '\r' {
		end--
	}
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if utf8.RuneStart(text[len(text)-back]) {
			if !utf8.FullRune(text[len(text)-back:]) {
				end = len(text) - back
			}
			break
		}
	}
	ready := Escaped(string(text[:end]))
	w.held = append([]byte(nil), text[end:]...)
	if ready == "" {
		return len(p), nil
	}
	if _, err := io.WriteString(w.w, ready); err != nil {
		return 0, err
	}
	return len(p), nil
}

// credentials matches the user and password that an address may have before its host.
var credentials = regexp.MustCompile(`(://)[^\s"'\\]*@`)

// bare is a user and a password before something that has no scheme.
var bare = regexp.MustCompile(`^[^\s/@:]*:[^\s/@][^\s@]*@`)

// WithoutCredentials is a text in which addresses have no user or password. Addresses need
// not be well formed for that.
func WithoutCredentials(text string) string { return credentials.ReplaceAllString(text, "${1}…@") }

// Address is the part of the address of a server that may be shown: no user or password, no
// query, where keys may be, and no fragment. It need not be a good one: messages about bad
// ones repeat them, and so does the error of url.Parse.
func Address(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		if u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" {
			return EscapedLine(address)
		}
		text := u.Scheme + "://"
		if u.User != nil {
			text += "…@"
		}
		text += u.Host + u.EscapedPath()
		if u.RawQuery != "" || u.ForceQuery {
			text += "?…"
		}
		return EscapedLine(text)
	}
	text := bare.ReplaceAllString(WithoutCredentials(address), "…@")
	for i, r := range text {
		if r == '?' || r == '#' {
			return EscapedLine(text[:i+1] + "…")
		}
	}
	return EscapedLine(text)
}

// HasCredentials reports whether an address, good or bad, has a user or a password in it.
func HasCredentials(address string) bool {
	u, err := url.Parse(address)
	if err == nil && u.Host != "" {
		return u.User != nil
	}
	return bare.MatchString(address) || credentials.MatchString(address)
}
