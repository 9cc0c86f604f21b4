package choice

import "strings"

// claim is the place after "answer is", "Answer:" or "best option would be", of
// which the noun is at from to to; 0 if that is not what is said.
func claim(s string, from, to int) int {
	start, ok := announces(s, from, to)
	if !ok {
		return 0
	}
	at := skipVerb(s, to)
	if at == 0 || denied(s, start) {
		return 0
	}
	return at
}

// announces tells whether a noun, at from to to, means the answer that is given,
// as "answer" and "the most likely option" do, but not "a tempting answer" or
// "the second best answer". The place is that of its first adjective.
func announces(s string, from, to int) (start int, ok bool) {
	ok = oneOf(s[from:to], "answer")
	start = from
	for range 4 {
		w, i := wordBefore(s, start)
		switch {
		case oneOf(w, "correct", "right", "best", "final", "my", "appropriate", "suitable", "likely", "chosen", "selected", "accurate"):
			ok, start = true, i
		case oneOf(w, "most", "only", "single", "overall", "our"):
			start = i
		default:
			return start, ok && (w == "" || oneOf(w, "the", "a", "an", "this", "so", "thus", "hence", "therefore", "then",
				"that", "is", "and", "but", "because", "with", "believe", "think", "say", "if", "whether", "select", "choose"))
		}
	}
	return start, false
}

// denied tells whether the words before i, of the same clause, take back what
// follows or leave it open: "I don't think that", "if", "it is unlikely that".
func denied(s string, i int) bool {
	for range 8 {
		var w string
		w, i = wordBefore(s, i)
		switch {
		case w == "", oneOf(w, "so", "thus", "hence", "therefore", "then", "but", "and", "or", "because"):
			return false
		case oneOf(w, "if", "whether", "unless", "suppose", "supposing", "assume", "assuming", "not", "no", "nor", "neither", "never", "cannot",
			"wrong", "incorrect", "false", "untrue", "doubt", "doubtful", "unlikely", "impossible", "hardly", "deny", "disagree"):
			return true
		}
		for _, apostrophe := range [...]string{"'", "’"} {
			if rest, is := strings.CutSuffix(s[:i], apostrophe); is {
				if oneOf(w, "t") {
					return true // don't
				}
				i = len(rest)
			}
		}
	}
	return false
}

// skipVerb is the place after what joins a noun and what it is, or 0.
func skipVerb(s string, i int) int {
	inside := false // "to the question", of which any word may be
	for n := range 16 {
		space := i
		for i < len(s) && (s[i] == ' ' || strings.IndexByte("\t*_\"$)", s[i]) >= 0) {
			i++
		}
		switch {
		case i == len(s):
			return 0
		case s[i] == ':' || s[i] == '>' || s[i] == '=':
			return i + 1
		case strings.HasPrefix(s[i:], "："):
			return i + len("：")
		case n == 0 && space < i && dash(s[i:]) > 0:
			return i + dash(s[i:])
		}
		w := word(s, i)
		i += len(w)
		switch {
		case len(w) > len("therefore") && !inside:
			return 0
		case oneOf(w, "is", "be", "was"):
			return i
		case w == "" && (!inside || !wordyAt(s, i)):
			return 0
		case w == "":
			i++
		case oneOf(w, "to", "for", "of", "here", "among", "in", "from"):
			inside = true
		case !inside && !oneOf(w, "choice", "option", "letter", "therefore", "thus", "then", "hence", "must", "should", "would", "will", "has"):
			return 0
		}
	}
	return 0
}

// dash is the length of a dash with space after it.
func dash(s string) int {
	for _, sign := range [...]string{"- ", "– ", "— "} {
		if strings.HasPrefix(s, sign) {
			return len(sign)
		}
	}
	return 0
}

// heading is the letter alone on the line below the heading "Answer", of which
// the noun is at from to to.
func heading(s string, from, to int) (mark, bool) {
	start, ok := announces(s, from, to)
	if w, i := wordBefore(s, start); oneOf(w, "the") {
		start = i
	}
	for start > 0 && strings.IndexByte("#*_ \t", s[start-1]) >= 0 {
		start--
	}
	if !ok || start > 0 && s[start-1] != '\n' {
		return mark{}, false
	}
	const most = 200 // bytes to the end of the letter's line
	rest := strings.TrimLeft(s[to:min(len(s), to+most)], "*_ \t\r")
	if !strings.HasPrefix(rest, "\n") {
		return mark{}, false
	}
	at := min(len(s), to+most) - len(rest)
	m, ok := markAt(s, at)
	if !ok || m.lower || m.to > at+len(rest) {
		return mark{}, false
	}
	line, _, _ := strings.Cut(s[m.to:max(m.to, at+len(rest))], "\n")
	return m, bare(line) && !enumerates(s, at, m)
}

// enumerates tells whether the mark after a claim, which ends at a place, begins
// a list of options, as after "Choose the correct answer:". The next line begins
// with the next letter then, and the mark is A or begins a line. What follows
// "The answer is B" on a line may speak of C.
func enumerates(s string, at int, m mark) bool {
	if m.letter != 'A' && strings.IndexByte(s[at:m.from], '\n') < 0 {
		return false
	}
	const most = 1000 // bytes looked at: a line of an option is shorter
	_, rest, more := strings.Cut(s[m.to:min(len(s), m.to+most)], "\n")
	if !more {
		return false
	}
	line, _, _ := strings.Cut(strings.TrimLeft(rest, " \t\r\n#>-"), "\n")
	next, ok := lineMark(line)
	return ok && next.letter == m.letter+1 && (next.isLabel(line) || bare(line[next.to:]))
}
