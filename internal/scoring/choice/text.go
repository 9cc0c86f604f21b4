package choice

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// optionOf is the option whose text a text is, and how many have that text.
func (s *Scorer) optionOf(text string) (letter byte, n int) {
	for i, option := range s.texts {
		if rest, same := cutOption(text, option); same && bare(rest) {
			letter, n = letters[i], n+1
		}
	}
	return letter, n
}

// optionAt is the option whose text begins at i and is all that is said there,
// the longest one, how many have that text, and where it ends. A text that is a
// letter is left to the other rules.
func (s *Scorer) optionAt(text string, i int) (letter byte, n, end int) {
	shortest := len(text) + 1 // of what is left
	for k, option := range s.texts {
		rest, same := cutOption(text[i:], option)
		if !same || len(rest) > shortest || !sentenceEnds(rest) || len(option) == 1 && isLetter(option[0]) {
			continue
		}
		if len(rest) < shortest {
			shortest, n = len(rest), 0
		}
		letter, n = letters[k], n+1
	}
	return letter, n, len(text) - shortest
}

// sentenceEnds reports whether a text that was found is not the beginning of
// another, "5" of "5.2 km".
func sentenceEnds(rest string) bool {
	rest = rest[skip(rest, 0, closers):]
	if rest == "" || rest[0] == '\n' || rest[0] == '\r' {
		return true
	}
	if strings.IndexByte(".,;:!", rest[0]) >= 0 {
		return len(rest) == 1 || strings.IndexByte(" \n\r*", rest[1]) >= 0
	}
	next := strings.TrimLeft(rest, " ")
	return len(next) < len(rest) && (next == "" || next[0] == '\n' || next[0] == '(' ||
		classOf(word(next, 0)).in(follows) && !classOf(word(next, 0)).in(verb|joins|denies))
}

// cutOption reports whether a text begins with the text of an option, and what is
// left of it. Case, space and markup do not count; an option without any text
// begins nothing.
func cutOption(text, option string) (rest string, is bool) {
	option = strings.TrimRight(option, " \t\r\n.")
	for {
		o, left := significant(option)
		if o == 0 {
			return text, is
		}
		t, more := significant(text)
		if t != o {
			return "", false
		}
		text, option, is = more, left, true
	}
}

// significant is the first character of a text that counts, in lower case, and
// what follows it; 0 at its end.
func significant(s string) (rune, string) {
	for s != "" {
		if s[0] == '\\' {
			n := opener(s)
			if strings.HasPrefix(s, `\)`) || strings.HasPrefix(s, `\]`) {
				n = 2
			}
			if n > 0 && s[1] != '{' {
				s = s[n:]
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		if strings.ContainsRune(" \t\r\n*$`~{}\"“”", r) {
			continue
		}
		return unicode.ToLower(r), s
	}
	return 0, ""
}

// said is the reading of a text that n options have, one of them of this letter.
func said(letter byte, n int) reading {
	switch n {
	case 0:
		return reading{}
	case 1:
		return reading{letter: letter}
	}
	return reading{note: noteTexts, ends: true}
}
