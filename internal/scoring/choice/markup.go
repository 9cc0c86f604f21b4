package choice

import (
	"strings"

	"speceval/internal/scoring/words"
)

// openers and closers may stand around a letter: brackets, quotes, markdown, HTML and LaTeX.
// A longer one comes before the shorter ones that it begins with.
var (
	openers = append(strings.Fields("* _ $ ( [ { \" ' ` “ ‘ « 「 \\( \\[ \\, \\; \\: \\! \\{ <b> <strong> <i> <em> <u> <"), `\ `)
	closers = strings.Fields("* _ $ ) ] } > \" ' ` \\) \\] \\} \\right) \\right] ” ’ » 」 </b> </strong> </i> </em> </u>")
)

// prefix is the length of the first of some texts that s begins with; 0 if there is none. No
// text begins with a letter.
func prefix(s string, texts []string) int {
	if s == "" || isLetter(s[0]) {
		return 0
	}
	for _, t := range texts {
		if strings.HasPrefix(s, t) {
			return len(t)
		}
	}
	return 0
}

// opener is the length of what may open a mark at the beginning of s.
func opener(s string) int {
	if n := prefix(s, openers); n > 0 || s[0] != '\\' {
		return n
	}
	name := word(s, 1)
	switch look := words.LookOf(name); {
	case look == words.Layout:
		return 1 + len(name)
	case look != 0 && look != words.Hidden && strings.HasPrefix(s[1+len(name):], "{"):
		return 2 + len(name)
	}
	return 0
}

// skipOpeners is the place after space and what may open a mark.
func skipOpeners(s string, i int) int {
	for i < len(s) {
		n := opener(s[i:])
		if n == 0 && strings.IndexByte(" \t\r\n", s[i]) >= 0 {
			n = 1
		}
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// skip is the place after some of texts, 16 at most.
func skip(s string, i int, texts []string) int {
	for range 16 {
		i += prefix(s[i:], texts)
	}
	return i
}

// blank reports whether a text holds nothing but space.
func blank(s string) bool { return strings.TrimSpace(s) == "" }

// bare reports whether nothing of meaning is left after a mark.
func bare(rest string) bool { return strings.Trim(rest, " \t\r\n.,:;!}$*)\\✅✔✓\ufe0f") == "" }
