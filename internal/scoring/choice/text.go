package choice

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain is a text without case, space, markup, and points at its end.
func plain(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := glyph(s[i:])
		if i += n; r != 0 {
			b.WriteRune(r)
		}
	}
	return strings.TrimRight(b.String(), `.,:;)\`)
}

// glyph is the first character of a text in lower case, 0 for space and markup, and its length.
func glyph(s string) (r rune, n int) {
	if s[0] == '\\' && !strings.HasPrefix(s, `\{`) {
		if n = max(opener(s), prefix(s, closers)); n > 0 {
			return 0, n
		}
	}
	if r, n = utf8.DecodeRuneInString(s); strings.ContainsRune(" \t\r\n*$`~{}\"“”", r) {
		return 0, n
	}
	return unicode.ToLower(r), n
}

// optionOf is the option whose text a text is. An option without any text is none.
func (s *Scorer) optionOf(text string) (got reading) {
	text = plain(text)
	for i, option := range s.texts {
		if option == text && text != "" {
			got = got.and(letters[i])
		}
	}
	return got
}

// optionAt is the option whose text begins at i and is all that is said there,
// the longest one, and where it ends. A text that is a letter is left to the other rules.
func (s *Scorer) optionAt(text string, i int) (got reading, end int) {
	end = i
	for k, option := range s.texts {
		to := i
		for to < min(len(text), i+s.longest) && option != "" {
			r, size := glyph(text[to:])
			want, width := utf8.DecodeRuneInString(option)
			if r != 0 && r != want {
				break
			}
			if to += size; r != 0 {
				option = option[width:]
			}
		}
		if option != "" || to < end || to == i || !sentenceEnds(text[to:]) || isLetter(s.texts[k][0]) && len(s.texts[k]) == 1 {
			continue
		}
		if to > end {
			got = reading{}
		}
		got, end = got.and(letters[k]), to
	}
	return got, end
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

// and is the reading of a text that is another option's as well.
func (r reading) and(letter byte) reading {
	if r.open() {
		return reading{letter: letter}
	}
	return reading{note: "no answer: the text of several options", ends: true}
}
