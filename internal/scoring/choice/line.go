package choice

import "strings"

// lines finds the first and the last line that are not blank, and the one before
// the last; what is not there is empty.
func lines(text string) (first, last, before string) {
	text = strings.TrimSpace(text)
	last = text
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		last, before = text[i+1:], strings.TrimSpace(text[:i])
		before = before[strings.LastIndexByte(before, '\n')+1:]
		first = text[:strings.IndexByte(text, '\n')]
	}
	return strip(first), strip(last), strip(before)
}

// strip takes the marks of headings, lists and quotations off a line.
func strip(line string) string { return strings.TrimSpace(strings.TrimLeft(line, "#>- \t")) }

// line reads a letter that makes up the last line, alone or with the text of its
// option, or failing that, the first line, alone.
func (s *Scorer) line(text string) reading {
	first, last, before := lines(text)
	m, ok := lineMark(last)
	switch {
	case !ok:
	case m.joined(last):
		return ambiguous
	case listed(before, m):
		return reading{} // one of a list
	case bare(last[m.to:]), correct(last[m.to:]):
		return s.settle(m.letter)
	case s.labels(last, m, before == ""):
		return s.labelled(last, m)
	}
	return s.firstLine(first)
}

// firstLine reads a letter that makes up the first of several lines.
func (s *Scorer) firstLine(line string) reading {
	if m, ok := lineMark(line); ok && bare(line[m.to:]) {
		return s.settle(m.letter)
	}
	return reading{}
}

// lineMark is the upper-case letter at the beginning of a line, "Option" before
// it or not, or all that follows "Hence", "It is" or "I choose".
func lineMark(line string) (mark, bool) {
	if at := skipLead(line); at > 0 {
		if cue := skipCue(line, at); cue > 0 {
			at = cue
		}
		m, ok := markAt(line, at)
		return m, ok && !m.lower && (bare(line[m.to:]) || correct(line[m.to:]))
	}
	m, ok := markAt(line, skipCue(line, 0))
	return m, ok && !m.lower
}

// leads are what may choose a letter that ends a line.
var leads = [...]string{
	"it's ", "it’s ", "it is ", "it must be ",
	"I choose ", "I select ", "I pick ", "I would choose ", "I would select ", "I would pick ",
	"I'd choose ", "I'll choose ", "I go with ", "I would go with ", "I'd go with ", "I'll go with ",
}

// skipLead is the place after words such as "Hence", "so it is" or "I would
// choose" at the beginning of a line, or 0.
func skipLead(line string) int {
	rest := line
	for range 2 {
		w := word(rest, 0)
		if !oneOf(w, "so", "hence", "thus", "therefore", "final") {
			break
		}
		rest = strings.TrimLeft(rest[len(w):], ",: ")
	}
	for _, lead := range leads {
		if len(rest) > len(lead) && strings.EqualFold(rest[:len(lead)], lead) {
			rest = rest[len(lead):]
			break
		}
	}
	return len(line) - len(rest)
}

// listed tells whether the line before one with a mark begins with another
// letter, so that both are of a list.
func listed(before string, m mark) bool {
	other, ok := lineMark(before)
	return ok && other.letter != m.letter && (other.isLabel(before) || bare(before[other.to:]))
}

// labels tells whether a line says "C) red". With the options' texts known it
// must be the right one; else a point is a label only where nothing else is
// said, for "E. coli lives there" may end a longer response. So is what gives a
// reason, "C because it is red".
func (s *Scorer) labels(line string, m mark, alone bool) bool {
	rest := afterLabel(line, m)
	if alone && m.stands(line) && oneOf(word(rest, 0), "because", "since", "as", "due") {
		return true
	}
	if s.texts != nil {
		_, n := s.optionOf(rest)
		return n > 0
	}
	if !m.stands(line) || !m.isLabel(line) && !strings.HasPrefix(line[m.to:], " - ") || line[m.from+1] == '.' && !alone {
		return false
	}
	return !oneOf(word(rest, 0), "is", "was", "are", "has", "can", "cannot", "could", "would", "does", "and", "or", "not", "fails", "seems")
}

// correct tells whether a letter is followed by "is correct", and by nothing.
func correct(rest string) bool {
	const between = " \t*_$)"
	rest = strings.TrimLeft(rest, between)
	is := word(rest, 0)
	rest = strings.TrimLeft(rest[len(is):], between)
	right := word(rest, 0)
	return oneOf(is, "is") && oneOf(right, "correct", "right") && bare(rest[len(right):])
}

// textLine reads the text of an option that makes up the last line.
func (s *Scorer) textLine(text string) reading {
	_, last, _ := lines(text)
	return said(s.optionOf(last))
}
