package maths

import (
	"regexp"
	"slices"
	"strings"

	"speceval/internal/scoring/maths/latex"
	"speceval/internal/scoring/words"
)

// span is a part of a text.
type span struct{ from, to int }

func (p span) of(text string) string { return text[p.from:p.to] }

// trim is a span without the marks around it, see trimmed.
func (p span) trim(text string) span {
	inside := trimmed(p.of(text))
	p.from += strings.Index(p.of(text), inside)
	return span{p.from, p.from + len(inside)}
}

// until ends a span before the first of some marks in it, and at its longest.
func (p span) until(text string, marks ...string) span {
	p.to = min(p.to, p.from+longestTail)
	for _, mark := range marks {
		if i := strings.Index(p.of(text), mark); i >= 0 {
			p.to = p.from + i
		}
	}
	return p
}

// finders look for an answer outside boxes, the first of them first.
var finders = [...]struct {
	find func(text string) (span, string, bool)
	note string
}{
	{announced, "no box: what follows the word answer was read"},
	{lastItems, "no box: the last list was read"},
	{lastBold, "no box: what is bold in the last line was read"},
	{lastMath, "no box: the last formula was read"},
	{lastNumber, "no box: the last value was read"},
}

// amongWords is the finder of numbers among words.
const amongWords = 4

// found is the answer at a place if the text states it there, or else the last value
// that the sentence around it states: 8 in "not 7 but 8", and in "8, not 7".
func found(text string, p span, content string) (string, bool) {
	stance := words.States(text, p.from, p.to)
	if stance == words.Stated {
		return content, true
	} else if other := orForm.FindStringSubmatch(text[p.to:]); other != nil && words.States(text[:p.to], p.from, p.to) == words.Stated {
		return content + " or " + other[1], true
	}
	from := max(0, p.from-longestTail)
	from += max(strings.LastIndex(text[from:p.from], ". "), strings.LastIndex(text[from:p.from], "\n")) + 1
	rest := span{p.to, len(text)}.until(text, ". ", "\n")
	values := valuesOf(text, span{from, rest.to})
	for _, v := range slices.Backward(values[max(0, len(values)-mostWords):]) {
		beside := v.from > p.from || stance == words.Denied || v.to < p.from && words.Counts(text[v.to:p.from])
		if beside && words.States(text, v.from, v.to) == words.Stated {
			return v.of(text), true
		}
	}
	return "", false
}

var (
	numeral = regexp.MustCompile(`-?\.?\d(?:[\d.,/]*\d)?`)
	space   = regexp.MustCompile(`\S+`)
)

// orForm is another form of a value behind it at the end of a text: 3/4, or 75%.
var orForm = regexp.MustCompile(`^[ $*)\\]*,? or (?:about )?[$*(\\]*(-?\.?\d(?:[\d.,/]*\d)?\\?%?)[ $*)\\]*[.!]?\s*$`)

// valuesOf are the formulas and numbers of a sentence, without the numbers of names, H2.
func valuesOf(text string, sentence span) (all []span) {
	at := sentence.from
	between := func(to int) {
		if at < to {
			for _, m := range numeral.FindAllStringIndex(text[at:to], maxItems) {
				if from := at + m[0]; from == 0 || text[from-1]|0x20 < 'a' || 'z' < text[from-1]|0x20 {
					all = append(all, span{from, at + m[1]})
				}
			}
		}
		at = to
	}
	words.Formulas(text[:sentence.to], sentence.from, func(f words.Formula) bool {
		between(f.Start)
		all, at = append(all, span{f.From, f.To}), f.End
		return len(all) < maxItems
	})
	between(sentence.to)
	return all
}

// announcements come before an answer; the first of them that a text has
// counts, at its last place.
var announcements = [...]string{"final answer is", "final answer:", "final answer\n", "answer is", "answer:", "answer =", "answer\n", "####"}

// announced is the text behind an announcement.
func announced(text string) (span, string, bool) {
	lower := lowered(text)
	for _, phrase := range announcements {
		i := strings.LastIndex(lower, phrase)
		if i < 0 {
			continue
		}
		tail := strings.TrimLeft(text[i+len(phrase):], " :*}\n\t")
		if strings.HasPrefix(tail, "n't") { // the answer isn't
			continue
		}
		if label, list, below := strings.Cut(text[i+len(phrase):], "\n"); below && strings.Trim(label, " :*}") == "" {
			if length, content := itemized(list); length > 0 {
				return span{len(text) - len(list), len(text) - len(list) + length}, content, true
			}
		}
		line := span{len(text) - len(tail), len(text)}.until(text, "\n")
		p, ok := statement(text, line)
		if !ok {
			p, ok = number(text, line.until(text, ". "))
		}
		if ok {
			return p, p.of(text), true
		}
	}
	return span{}, "", false
}

// item is a line of a list, a bullet or a number before it; single is the only one, which is no sum.
// A text ends in one with lastLine.
var (
	lastLine = regexp.MustCompile(`\n\s*(?:[-*•+]|\d+[.)])\s[^\n]*$`)

	item   = regexp.MustCompile(`^\s*(?:[-*•+]|\d+[.)])\s+(.*\S)\s*$`)
	single = regexp.MustCompile(`^[*$]*-?\d[^+=^-]*$`)
)

// itemized reads the items of a list at the beginning of a text, one a line: its length, and the
// items with commas between.
func itemized(text string) (length int, content string) {
	var items []string
	for line := range strings.Lines(text) {
		m := item.FindStringSubmatch(line)
		if m != nil {
			a, ok := latex.Read(trimmed(m[1]))
			if name, value := definition(a); variable(name) { // but not a step, 5 + 3 = 8
				a = value
			}
			if !ok || hasWords(a) || a.Kind == latex.Relation || len(items) > 0 && len(a.Nouns) > 0 {
				return 0, ""
			}
			items = append(items, trimmed(m[1]))
		} else if strings.TrimSpace(line) != "" {
			break
		}
		length += len(line)
	}
	if len(items) == 0 || len(items) == 1 && !single.MatchString(items[0]) {
		return 0, ""
	}
	return length, strings.Join(items, ", ")
}

// lastItems is the list at the end of a text, behind a colon.
func lastItems(text string) (span, string, bool) {
	at := max(strings.LastIndex(text, ":\n"), strings.LastIndex(text, ":**\n"))
	if at < 0 {
		return span{}, "", false
	}
	at += strings.IndexByte(text[at:], '\n') + 1
	length, content := itemized(text[at:])
	return span{at, at + length}, content, length == len(text)-at && strings.Contains(content, ", ")
}

// announcedWords are the words behind the last announcement of a text, to the end of its sentence; ""
// for nothing.
func announcedWords(text string) string {
	lower, at := lowered(text), -1
	for _, phrase := range announcements {
		if i := strings.LastIndex(lower, phrase); i >= 0 {
			at = max(at, i+len(phrase))
		}
	}
	if at < 0 {
		return ""
	}
	tail := strings.TrimLeft(text[at:], " :*}\n\t")
	p := span{len(text) - len(tail), len(text)}.until(text, "\n", ". ").trim(text)
	if words.States(text, p.from, p.to) != words.Stated {
		return ""
	}
	return p.of(text)
}

// lowered is a text of the same length with small letters for capitals.
func lowered(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// article begins what is no formula, though the article could be a variable.
var article = regexp.MustCompile(`^(?:an?|the) [a-z]{2,}`)

// statement is the answer at the beginning of a line.
func statement(text string, line span) (span, bool) {
	sentence := line.until(text, ". ").trim(text)
	if !article.MatchString(sentence.of(text)) {
		for _, whole := range []span{line.trim(text), sentence} {
			if a, ok := latex.Read(whole.of(text)); ok && !explained(a) {
				return whole, true
			}
		}
	}
	var first span
	words.Formulas(text[:sentence.to], sentence.from, func(f words.Formula) bool { first = span{f.From, f.To}; return false })
	if first.to > 0 {
		if value, ok := linked(text, first.of(text), span{first.to, sentence.to}); ok {
			return value, true
		}
		return first, true
	}
	for _, at := range slices.Backward(space.FindAllStringIndex(sentence.of(text), mostWords)) {
		part := strings.TrimRight(text[sentence.from:sentence.from+at[1]], ".,:;")
		last := lowered(part[strings.LastIndexAny(part, " \t")+1:])
		if article.MatchString(part) || len(last) > 1 && words.Known(last) {
			continue
		}
		if a, ok := latex.Read(part); ok && !hasWords(a) && (len(a.Nouns) == 0 || strings.ContainsAny(part, "0123456789")) {
			return span{sentence.from, sentence.from + len(part)}, true
		}
	}
	return span{}, false
}

// explained reports whether words behind an answer, with a comma between, only explain it:
// 7, which is odd.
func explained(a latex.Answer) bool {
	return a.Kind == latex.List && a.Items[0].Kind != latex.Words && slices.ContainsFunc(a.Items, func(item latex.Answer) bool {
		first, _, _ := strings.Cut(item.Text, " ")
		return item.Kind == latex.Words && words.Known(first)
	})
}

// mathematical reports whether a text is an answer without any words.
func mathematical(text string) bool {
	a, ok := latex.Read(text)
	return ok && !hasWords(a)
}

// hasWords reports whether words are an answer, or an item of it.
func hasWords(a latex.Answer) bool {
	return a.Kind == latex.Words || slices.ContainsFunc(a.Items, func(item latex.Answer) bool { return item.Kind == latex.Words })
}

// wordy begins with a word of letters, and so hardly with an answer.
var wordy = regexp.MustCompile(`^[a-zA-Z]{2,}(?:-[a-zA-Z]+)*[.,:;]*(?:\s|$)`)

// signed begins with the word for a minus sign.
var signed = regexp.MustCompile(`^(?:minus|negative) [\d.]`)

// because begins what is no part of a value before it: its reason, where it is attained, or $5 more.
var because = regexp.MustCompile(`\d(?:( (?:more|fewer|extra)\b[^\d=]*$)|[^.]*?(,? because |, since |, which (?:he|she|they|we|I) ))`)

// total is a sum at the end of a sentence, behind what it is of: 8*5=40, total $64; or $15 in total.
var total = regexp.MustCompile(`, (?:(?:so |and )?(?:the |a )?total(?: is| of| =|:)? (\$?\d[\d,]*(?:\.\d+)?)(?: [a-z]+)?|(\$?\d[\d,]*(?:\.\d+)?)(?: [a-z]+)? (?:in total|in all|altogether))[.!* ]*$`)

// number is the longest answer at the end of the last line of a span, or else its last
// number.
func number(text string, in span) (span, bool) {
	line := span{max(in.from, in.to-longestTail), in.to}
	line.from += strings.LastIndexByte(strings.TrimRight(line.of(text), " \r\n"), '\n') + 1
	if sentence := max(line.from, line.from+strings.LastIndex(line.of(text), ". ")); sentence < line.to {
		if at := because.FindStringSubmatchIndex(text[sentence:line.to]); at != nil {
			line.to = sentence + max(at[2], at[4])
			in.to = line.to
		}
	}
	if at := total.FindStringSubmatchIndex(line.of(text)); at != nil {
		i := max(at[2], at[4])
		return span{line.from + i, line.from + max(at[3], at[5])}, true
	}
	starts := space.FindAllStringIndex(line.of(text), -1)
	for _, at := range starts[max(0, len(starts)-mostWords):] {
		part := span{line.from + at[0], line.to}
		if inside := part.trim(text); (!wordy.MatchString(part.of(text)) || signed.MatchString(part.of(text))) && mathematical(inside.of(text)) {
			return inside, true
		}
	}
	last := strings.LastIndexAny(in.of(text), "0123456789")
	if last < 0 || in.to-in.from == len(text) && len(text) <= longestWhole && command.MatchString(text) { // a formula
		return in, false
	}
	values := valuesOf(text, span{max(in.from, in.from+last-64), in.from + last + 1})
	if len(values) == 0 {
		return in, false
	}
	return values[len(values)-1], true
}

func lastNumber(text string) (span, string, bool) {
	p, ok := number(text, span{0, len(text)})
	return p, p.of(text), ok
}

// bold is a value between the marks of bold letters, in a line with no others.
var bold = regexp.MustCompile(`^[^*\n]*\*\*(\$?(-?\.?\d(?:[\d.,/]*\d)?)(?:%|[^*\n]*\pL)?)\.?\*\*[^*\n]+$`)

// lastBold is the value in bold letters among the words of the last line.
func lastBold(text string) (span, string, bool) {
	text = strings.TrimRight(text, " \n")
	from := strings.LastIndexByte(text, '\n') + 1
	at := bold.FindStringSubmatchIndex(text[from:])
	if at == nil {
		return span{}, "", false
	}
	p, content := span{from + at[4], from + at[5]}, text[from+at[2]:from+at[3]]
	return p, content, mathematical(content) && words.States(text, p.from, p.to) == words.Stated
}

// lastMath is the last formula of a text, with those before it that only a comma
// or a word like "and" separates from it. A formula that does not end goes on to
// the end of the text: if it cannot be read, nothing is.
func lastMath(text string) (p span, content string, ok bool) {
	var recent []words.Formula
	open := words.Formulas(text, 0, func(f words.Formula) bool {
		recent = append(recent, f)
		return true
	})
	if n := len(recent); n > 1 && counted.MatchString(text[recent[n-2].From:]) {
		recent = recent[:n-1]
	}
	last := len(recent) - 1
	if open > 0 && (last < 0 || open >= recent[last].End) {
		if tail := (span{open, len(text)}).trim(text); mathematical(tail.of(text)) {
			return tail, tail.of(text), true
		} else if strings.ContainsAny(tail.of(text), `\=^_{`) {
			return tail, "", true
		}
	}
	if last < 0 {
		return p, "", false
	}
	first := last
	parts := []string{text[recent[last].From:recent[last].To]}
	for first > 0 && len(parts) < maxItems && words.Listed(text[recent[first-1].End:recent[first].Start]) {
		first--
		parts = append(parts, text[recent[first].From:recent[first].To])
	}
	slices.Reverse(parts)
	p, content = span{recent[first].From, recent[last].To}, strings.Join(parts, ", ")
	rest := span{recent[last].End, len(text)}
	if value, ok := linked(text, content, rest); ok {
		return value, value.of(text), true
	}
	if at := concluding.FindAllStringIndex(rest.of(text), -1); at != nil {
		if value, ok := number(text, span{rest.from + at[len(at)-1][0] + 1, len(text)}.until(text, ". ", "\n")); ok {
			return value, value.of(text), true
		}
	}
	return p, content, true
}

// counted is a number at the end of a text with the name of what it counts: $5$ such triples $(a,b,c)$.
var counted = regexp.MustCompile(`^\d[\d,]*\s*(?:\$|\\\)) (?:such |ordered |possible |distinct |different |valid |integer |positive |real )*(?:pairs|triples|quadruples|tuples|points|solutions|(?:values|choices) (?:of|for)) (?:\$|\\\()\(?[a-z](?:, ?[a-z])*\)?(?:\$|\\\))[.*]*\s*$`)

// concluding begins a sentence that says what follows from the formulas before it:
// Therefore, there are 12 ways.
var concluding = regexp.MustCompile(`[ \n](?:Therefore|Thus|Hence|Consequently)\b`)

// links give a value to the formula before them.
var links = regexp.MustCompile(`^[ $*)\\]*(?:is equal to|is|are|equals|must be|=) `)

// linked is the value that a sentence gives a formula with variables: 34 in "the
// largest $n$ is 34".
func linked(text, formula string, rest span) (value span, ok bool) {
	at := links.FindStringIndex(rest.of(text))
	if at == nil {
		return value, false
	}
	a, read := latex.Read(formula)
	if !read || a.Kind != latex.Value || constant(a) {
		return value, false
	}
	value, ok = statement(text, span{rest.from + at[1], rest.to}.until(text, "\n"))
	return value, ok && mathematical(value.of(text))
}

var (
	// prose is a word in a text, which is no formula then.
	prose = regexp.MustCompile(`(?:^|[^\\\pL])(?:\pL{3}|\p{Lu}\pL(?:\PL|$))`)
	// command is a command of LaTeX. A short text with one is a formula, and its last number
	// is only a part of it.
	command = regexp.MustCompile(`\\[a-zA-Z]`)
)
