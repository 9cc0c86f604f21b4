package maths

import (
	"strings"

	"speceval/internal/scoring/maths/latex"
	"speceval/internal/scoring/words"
)

// key spells a text in one of the ways in which it could be spelled: without
// space, dollar signs, fonts and such. Texts with the same key are the same
// answer.
func key(text string) string {
	text = latex.Plain(text)
	b := make([]byte, 0, len(text))
	var unwrapped []bool // of the open braces: which are left out
	wrap := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\n', '\r', '$', '~':
			b = gap(b, text[i+1:])
			continue
		case '{':
			if i+2 < len(text) && text[i+2] == '}' && !wrap && alphanumeric(text[i+1]) { // x^{2}
				b = append(b, text[i+1])
				i += 2
				continue
			}
			unwrapped = append(unwrapped, wrap)
			if wrap {
				wrap = false
				continue
			}
		case '}':
			if n := len(unwrapped); n > 0 {
				skip := unwrapped[n-1]
				unwrapped = unwrapped[:n-1]
				if skip {
					continue
				}
			}
		case '\\':
			n, spelling, wraps := macro(text[i+1:])
			if i += n; spelling == "" {
				wrap = wraps
				if !wraps && i+1 < len(text) {
					b = gap(b, text[i+1:])
				}
				continue
			}
			if wrap = spelling == "mod"; !wrap { // which has its argument in braces or not
				b = append(b, '\\')
			}
			b = append(b, spelling...)
			continue
		}
		wrap = false
		b = append(b, c)
	}
	return strings.TrimRight(strings.Trim(string(b), " *"), ".,;: ")
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// gap leaves a space between digits, and after a comma before one: 58, 500 is
// not 58,500.
func gap(b []byte, rest string) []byte {
	if len(b) == 0 || rest == "" || rest[0] < '0' || rest[0] > '9' {
		return b
	}
	if last := b[len(b)-1]; last == ',' || '0' <= last && last <= '9' {
		return append(b, ' ')
	}
	return b
}

// macro reads what is after a backslash: how long it is and its spelling, which
// is "" for what is left out, and then whether its braces are as well.
func macro(rest string) (n int, spelling string, wraps bool) {
	for n < len(rest) && alphanumeric(rest[n]) && rest[n] > '9' {
		n++
	}
	if n == 0 {
		if rest == "" {
			return 0, "", false
		}
		if strings.IndexByte(`,;:! ()[]`, rest[0]) >= 0 {
			return 1, "", false
		}
		return 1, rest[:1], false
	}
	switch name := rest[:n]; {
	case name == "dfrac" || name == "tfrac":
		return n, "frac", false
	case name == "pmod" || name == "bmod":
		return n, "mod", false
	case words.LookOf(name) == words.Layout:
		return n, "", false
	case words.LookOf(name) == words.Font, words.LookOf(name) == words.Frame:
		return n, "", true
	default:
		return n, name, false
	}
}

// sameWords reports whether two keys are the same text. Upper and lower case differ only
// where there are commands: \Pi is not \pi.
func sameWords(a, b string) bool {
	if strings.Contains(a, `\`) {
		return unquoted(a) == unquoted(b)
	}
	return strings.EqualFold(unquoted(a), unquoted(b))
}

// unquoted takes quotation marks and parentheses off a text.
func unquoted(s string) string {
	s = strings.Trim(s, "\"'`")
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		s = s[1 : len(s)-1]
	}
	return s
}

// isLetter reports whether a key is the letter of a choice, perhaps in parentheses.
func isLetter(k string) bool {
	k = strings.Trim(k, "()")
	return len(k) == 1 && 'A' <= k[0] && k[0] <= 'J'
}

// choice reads a key that gives the letter of a choice and then the choice.
func choice(k string) (letter, rest string, ok bool) {
	bare := strings.TrimPrefix(k, "(")
	if len(bare) < 3 || !isLetter(bare[:1]) {
		return "", "", false
	}
	mark := bare[1]
	if mark != ')' && (mark != ':' && mark != '.' || len(bare) != len(k)) {
		return "", "", false
	}
	// More brackets belong to a point A, or to a product.
	rest = bare[2:]
	if strings.IndexByte("^_!(+-*/=,", rest[0]) >= 0 {
		return "", "", false
	}
	for _, word := range []string{"and", "or"} { // (A) and (B)
		if other, found := strings.CutPrefix(rest, word); found && isLetter(other) {
			return "", "", false
		}
	}
	return bare[:1], rest, true
}
