package choice

import (
	"strings"
	"unicode/utf8"

	"speceval/internal/scoring/words"
)

// lastNoun is the place of the last noun that ends before end; 0, 0 if there is
// none. Nouns have six letters.
func lastNoun(text string, end int) (from, to int) {
	for i := end; i >= 6; i-- {
		from := i - 6
		if r, _ := utf8.DecodeLastRuneInString(text[:from]); isLetter(text[i-1]) && (i == len(text) || !isLetter(text[i])) && !wordy(r) && classOf(text[from:i]).In(noun) {
			return from, i
		}
	}
	return 0, 0
}

// phrase reads the last phrase of a text, from floor on, that says which option
// is right by its letter, and the last that says it by its text. What follows a
// phrase that is denied or doubted may say it as well.
func (s *Scorer) phrase(text string, floor int) (byLetter, byText reading) {
	limit, later := len(text), 0 // phrases from there on are read
	for {
		from, to := lastNoun(text, limit)
		if to <= floor {
			return byLetter, byText
		}
		limit, later = from, limit
		start, ok := announces(text, from, to)
		at := 0
		if ok {
			at = skipVerb(text, to)
		}
		if at == 0 && ok && heads(text, start, to) {
			at = to
		}
		if at > 0 {
			if before(text, start) != 0 {
				if turn := s.amend(text[:max(later, at)], at, reading{}); turn.letter != 0 {
					return turn, byText
				}
				continue
			}
			letter, says, end := s.claimed(text, at)
			wouldBut := strings.Contains(text[to:at], "would") && is(word(text, skip(text, end, []string{",", " "})), "if", "unless", "but", "however", "although", "though")
			stays := after(text, end) == 0 && !wouldBut
			amended := func(r reading) reading {
				switch {
				case r.letter == 0:
					return r
				case stays:
					return s.amend(text, end, r)
				}
				return s.amend(text[:max(later, end)], end, reading{})
			}
			letter = amended(letter)
			if byText.open() && letter.open() {
				byText = amended(says)
			}
			if !letter.open() {
				return letter, byText
			}
		}
		m := markAt(text, to)
		if start == from && !(m.letter != 0 && next(text, m.to).class.In(verb)) {
			continue
		}
		if c := clauseWith(text, max(floor, from-longest), from); c.definite() && !c.class.In(joins) {
			return s.amend(text, c.to, s.settle(c.mark.letter)), byText
		}
	}
}

// clauseWith is the clause that holds a place, which begins at first or after.
func clauseWith(text string, first, at int) (c clause) {
	end := min(len(text), at+longest)
	for c.to = first; c.to <= at; {
		c = clauseAt(text[:end], c.to)
	}
	c.known = c.known && (c.to < end || end == len(text))
	return c
}

// claimed returns what a claim that ends at a place says of options: a letter, if it names
// one, the end of that letter, and a text.
func (s *Scorer) claimed(text string, at int) (byLetter, byText reading, end int) {
	i := skipFillers(text, at)
	byText, textEnd := s.optionAt(text, skipOpeners(text, at))
	if byText.open() {
		byText, textEnd = s.optionAt(text, i)
	}
	if byText.letter != 0 && s.contradicts(text[textEnd:], byText.letter) {
		return ambiguous, byText, at
	}
	m := s.optionMark(text, i)
	if m.letter == 0 {
		return reading{}, byText, textEnd
	}
	if byText.letter != 0 && byText.letter != m.letter { // "E. coli" is the text of another
		return byText, byText, textEnd
	}
	after := len(text) - len(m.quoted())
	other, _ := s.optionAt(text, after)
	if !other.open() && text[after] == '\n' { // another line speaks of something else
		other = reading{}
	}
	switch {
	case !m.stands() && other.letter == 0 && !m.joined() && !(s.texts == nil && !m.closed && m.isLabel()), enumerates(text, at, m):
		return reading{}, byText, textEnd
	case m.joined(), other.letter != 0 && other.letter != m.letter: // "F) Grape", which is G
		return ambiguous, byText, at
	}
	return s.settle(m.letter), byText, m.to
}

// contradicts reports whether the text of an option is followed by the letter of
// another in brackets.
func (s *Scorer) contradicts(rest string, letter byte) bool {
	rest = strings.TrimLeft(rest[skip(rest, 0, closers):], " \t")
	m := markAt(rest, 0)
	return s.has(m.letter) && rest[0] == '(' && !m.lower && m.closed && m.letter != letter
}

// announces reports whether a noun, at from to to, means the answer that is given, as
// "answer" and "the most likely option" do, but not "a tempting answer" or "the second best
// answer". start is the place of its first adjective.
func announces(s string, from, to int) (start int, ok bool) {
	ok = len(s[from:to]) >= 6 && strings.EqualFold(s[from:from+6], "answer")
	start = from
	for range 4 {
		w, i := words.Before(s, start)
		c := classOf(w)
		if !c.In(given) {
			return start, ok && (w == "" || c.In(opens) || is(w, "if", "whether"))
		}
		ok, start = true, i
	}
	return start, false
}

// skipVerb is the place after what joins a noun, which ends at i, and what it is,
// or 0.
func skipVerb(s string, i int) int {
	if strings.HasPrefix(s[i:], ">") {
		return i + 1
	}
	inside := false // "to the question", where any word may follow
	for n := range 16 {
		it := next(s, i)
		w := s[it.from:it.to]
		switch {
		case is(w, "is", "be", "was", "s", ":", "：", "="), n == 0 && is(w, "- ", "– ", "—") && it.from > i:
			return it.to
		case it.stop, len(w) > len("therefore") && !inside:
			return 0
		case is(w, "to", "for", "of", "here", "among", "in", "from"):
			inside = true
		case !inside && !it.class.In(fills) && !is(w, "must", "should", "would", "will", "has"):
			return 0
		}
		i = it.to
	}
	return 0
}

// skipFillers is the place after words between a claim and what is claimed.
func skipFillers(s string, i int) int {
	for range 8 {
		i = skipOpeners(s, i)
		i = skip(s, i, []string{":", ",", "："})
		w := word(s, i)
		if !classOf(w).In(fills) {
			break
		}
		i += len(w)
	}
	return i
}

// heads reports whether a noun, whose first adjective is at from and which ends at
// to, is a heading with a letter alone, or before its text, on the line below.
func heads(s string, from, to int) bool {
	if w, i := words.Before(s, from); is(w, "the") {
		from = i
	}
	lead := strings.TrimRight(s[:from], "#*_ \t")
	rest := strings.TrimLeft(s[to:], "*_ \t\r")
	m := markAt(rest, 0)
	if lead != "" && lead[len(lead)-1] != '\n' || !strings.HasPrefix(rest, "\n") || m.letter == 0 {
		return false
	}
	line, _, _ := strings.Cut(m.behind(), "\n")
	return bare(line) || m.isLabel()
}

// enumerates reports whether the mark after a claim, which ends at a place, begins
// a list of options, as after "Choose the correct answer:". The next line begins
// with the next letter then, and the mark is A or begins a line. What follows
// "The answer is B" on a line may speak of C.
func enumerates(s string, at int, m mark) bool {
	if m.letter != 'A' && strings.IndexByte(s[at:m.from], '\n') < 0 {
		return false
	}
	const most = 1000 // bytes looked at: a line of an option is shorter
	_, rest, _ := strings.Cut(s[m.to:min(len(s), m.to+most)], "\n")
	line, _, _ := strings.Cut(strings.TrimLeft(rest, " \t\r\n#>-"), "\n")
	next := markAt(line, 0)
	return next.letter == m.letter+1 && !next.lower && (next.alone() || next.isLabel())
}
