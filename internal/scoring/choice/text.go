package choice

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain is a text without case, space, markup, and points at its end.
func plain(s string) string {
	var b strings.Builder
	for s != "" {
		n := 0
		if s[0] == '\\' && !strings.HasPrefix(s, `\{`) {
			n = max(opener(s), prefix(s, closers))
		}
		if n == 0 {
			var r rune
			if r, n = utf8.DecodeRuneInString(s); !strings.ContainsRune(" \t\r\n*$`~{}\"“”", r) {
				b.WriteRune(unicode.ToLower(r))
			}
		}
		s = s[n:]
	}
	return strings.TrimRight(b.String(), `.,:;)\`)
}

// optionOf is the option whose text a text is, and how many have that text. An
// option without any text is none.
func (s *Scorer) optionOf(text string) (letter byte, n int) {
	if len(text) > s.longest || len(s.texts) == 0 {
		return 0, 0
	}
	text = plain(text)
	for i, option := range s.texts {
		if option == text && text != "" {
			letter, n = letters[i], n+1
		}
	}
	return letter, n
}

// optionAt is the option whose text begins at i and is all that is said there,
// the longest one, how many have that text, and where it ends. A text that is a
// letter is left to the other rules.
func (s *Scorer) optionAt(text string, i int) (letter byte, n, end int) {
	for to := min(len(text), i+s.longest); to > i; to-- {
		if !sentenceEnds(text[to:]) {
			continue
		}
		letter, n = s.optionOf(text[i:to])
		if n > 0 && (len(s.texts[letter-'A']) > 1 || !isLetter(s.texts[letter-'A'][0])) {
			return letter, n, to
		}
	}
	return 0, 0, i
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
	c := classOf(word(next, 0))
	return len(next) < len(rest) && (next == "" || next[0] == '\n' || next[0] == '(' || c.In(follows) && !c.In(verb|joins|denies))
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
