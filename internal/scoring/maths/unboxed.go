package maths

import (
	"slices"
	"strings"
	"unicode"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
	"speceval/internal/scoring/words"
)

// span is a part of a text.
type span struct{ from, to int }

func (p span) of(text string) string { return text[p.from:p.to] }

// trim is a place without the marks around it, see trimmed.
func (p span) trim(text string) span {
	inside := trimmed(p.of(text))
	p.from += strings.Index(p.of(text), inside)
	return span{p.from, p.from + len(inside)}
}

// until ends a place before the first of some marks in it.
func (p span) until(text, mark string) span {
	if i := strings.Index(p.of(text), mark); i >= 0 {
		p.to = p.from + i
	}
	return p
}

// finders look for an answer outside boxes, the first of them first.
var finders = [...]struct {
	find func(text string) (span, string, bool)
	note string
}{
	{announced, "no box: what follows the word answer was read"},
	{lastMath, "no box: the last formula was read"},
	{ending, "no box: the end of the last sentence was read"},
	{lastNumber, "no box: the last number was read"},
}

// numbers is the first of the finders that look for numbers among words.
const numbers = 2

// found is the answer at a place if the text states it there, or else the last value
// that the sentence around it states: 8 in "not 7 but 8", and in "8, not 7".
func found(text string, p span, content string) (string, bool) {
	stance := words.States(text, p.from, p.to)
	if stance == words.Stated {
		return content, true
	}
	from := max(0, p.from-longestTail)
	from += max(strings.LastIndex(text[from:p.from], ". "), strings.LastIndex(text[from:p.from], "\n")) + 1
	rest := span{p.from, min(len(text), p.to+longestTail)}.until(text, ". ").until(text, "\n")
	values := valuesOf(text, span{from, rest.to})
	for _, v := range slices.Backward(values) {
		beside := v.from > p.from || stance == words.Denied || v.to < p.from && words.Counts(text[v.to:p.from])
		if beside && words.States(text, v.from, v.to) == words.Stated {
			return v.of(text), true
		}
	}
	return "", false
}

// valuesOf are the formulas and numbers of a sentence.
func valuesOf(text string, sentence span) (all []span) {
	at := sentence.from
	digits := func(to int) {
		for at < to {
			i := strings.IndexAny(text[at:to], "0123456789")
			if i < 0 {
				break
			}
			from := at + i
			for at = from; at < to && strings.IndexByte("0123456789.,/", text[at]) >= 0; at++ {
			}
			end := from + len(strings.TrimRight(text[from:at], ".,/"))
			if from > 0 && (text[from-1] == '-' || text[from-1] == '.') {
				from--
			}
			if len(all) < maxItems {
				all = append(all, span{from, end})
			}
		}
	}
	formulas(text[:sentence.to], sentence.from, func(f formula) bool {
		digits(f.start)
		if at = f.end; len(all) < maxItems {
			all = append(all, span{f.from, f.to})
		}
		return true
	})
	digits(sentence.to)
	return all
}

// announcements come before an answer; the first of them that a text has
// counts, at its last place.
var announcements = [...]string{"final answer is", "final answer:", "final answer\n", "answer is", "answer:", "answer =", "answer\n", "####"}

// announced is what follows an announcement.
func announced(text string) (span, string, bool) {
	lower := lowered(text)
	for _, phrase := range announcements {
		i := strings.LastIndex(lower, phrase)
		if i < 0 {
			continue
		}
		tail := text[i+len(phrase):]
		tail = strings.TrimLeft(tail, " :*}\n\t")
		from := len(text) - len(tail)
		line := span{from, from + min(len(tail), longestTail)}.until(text, "\n")
		if p, ok := statement(text, line); ok {
			return p, p.of(text), true
		}
		if p, ok := onlyNumber(text, line.until(text, ". ")); ok {
			return p, p.of(text), true
		}
	}
	return span{}, "", false
}

// lowered is a text of the same length with small letters for capitals, and without
// the marks of Markdown at the ends of lines.
func lowered(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// statement is the answer at the beginning of a line.
func statement(text string, line span) (span, bool) {
	whole := line.trim(text)
	article, rest, _ := strings.Cut(whole.of(text), " ")
	noun, _, _ := strings.Cut(rest, " ")
	if wordy(noun) && (article == "a" || article == "an" || article == "the") {
		f, ok := firstMath(text, whole)
		return f, ok
	}
	if a, ok := latex.Read(whole.of(text)); ok && !explained(a) {
		return whole, true
	}
	sentence := line.until(text, ". ").trim(text)
	if sentence != whole {
		if a, ok := latex.Read(sentence.of(text)); ok && !explained(a) {
			return sentence, true
		}
	}
	if f, ok := firstMath(text, sentence); ok {
		if value, ok := linked(text, f.of(text), span{f.to, sentence.to}); ok {
			return value, true
		}
		return f, true
	}
	ends := wordEnds(text, sentence)
	for n := min(len(ends), mostWords); n > 0; n-- {
		part := span{sentence.from, ends[n-1]}
		last := strings.TrimRight(part.of(text), ".,:;")
		part.to = part.from + len(last)
		if last = lowered(last[strings.LastIndexAny(last, " \t\n")+1:]); len(last) > 1 && words.Known(last) {
			continue
		}
		if a, ok := latex.Read(part.of(text)); ok && !hasWords(a) && (len(a.Nouns) == 0 || strings.ContainsAny(part.of(text), "0123456789")) {
			return part, true
		}
	}
	return span{}, false
}

// explained tells whether words behind an answer, with a comma between, say more of
// it: 7, which is odd.
func explained(a latex.Answer) bool {
	return a.Kind == latex.List && a.Items[0].Kind != latex.Words && slices.ContainsFunc(a.Items, func(item latex.Answer) bool {
		first, _, _ := strings.Cut(item.Text, " ")
		return item.Kind == latex.Words && (words.Known(first) || first == "which")
	})
}

// wordEnds are the ends of the first words of a place.
func wordEnds(text string, p span) (ends []int) {
	for at := p.from; at < p.to && len(ends) < mostWords; {
		rest := strings.TrimLeft(text[at:p.to], " \t\n\r")
		from := p.to - len(rest)
		if at = p.to; rest == "" {
			break
		}
		if i := strings.IndexAny(rest, " \t\n\r"); i >= 0 {
			at = from + i
		}
		ends = append(ends, at)
	}
	return ends
}

// mathematical tells whether a text is an answer without any words.
func mathematical(text string) bool {
	a, ok := latex.Read(text)
	return ok && !hasWords(a)
}

// hasWords tells whether words are an answer, or an item of it.
func hasWords(a latex.Answer) bool {
	return a.Kind == latex.Words || slices.ContainsFunc(a.Items, func(item latex.Answer) bool { return item.Kind == latex.Words })
}

// wordy tells whether a word is of letters, and so rather not the beginning of
// an answer.
func wordy(word string) bool {
	word = strings.ToLower(strings.Trim(word, ".,:;"))
	return len(word) > 1 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == ""
}

// ending is the longest answer at the end of the last line.
func ending(text string) (span, string, bool) {
	end := len(strings.TrimRightFunc(text, unicode.IsSpace))
	line := span{max(0, end-longestTail), end}
	line.from += strings.LastIndexByte(line.of(text), '\n') + 1
	var starts []int
	for i := line.to; i > line.from && len(starts) < mostWords; {
		i = line.from + strings.LastIndexAny(text[line.from:i], " \t\r") + 1
		starts = append(starts, i)
		i = line.from + len(strings.TrimRight(text[line.from:i], " \t\r"))
	}
	for _, from := range slices.Backward(starts) {
		first, _, _ := strings.Cut(text[from:line.to], " ")
		if part := (span{from, line.to}).trim(text); !wordy(first) && mathematical(part.of(text)) {
			return part, part.of(text), true
		}
	}
	return span{}, "", false
}

// firstMath is the first formula of a place.
func firstMath(text string, p span) (first span, ok bool) {
	formulas(text[:p.to], p.from, func(f formula) bool { first, ok = span{f.from, f.to}, true; return false })
	return first, ok
}

// lastMath is the last formula of a text, with those before it that only a comma
// or a word like "and" separates from it. A formula that does not end goes on to
// the end of the text: if it cannot be read, nothing is.
func lastMath(text string) (p span, content string, ok bool) {
	var recent []formula
	open := formulas(text, 0, func(f formula) bool {
		if len(recent) == 2*maxItems {
			recent = append(recent[:0], recent[maxItems:]...)
		}
		recent = append(recent, f)
		return true
	})
	end := 0
	if n := len(recent); n > 0 {
		end = recent[n-1].end
	}
	if open >= end && open > 0 {
		if tail := (span{open, len(text)}).trim(text); mathematical(tail.of(text)) {
			return tail, tail.of(text), true
		} else if strings.ContainsAny(tail.of(text), `\=^_{`) {
			return tail, "", true
		}
	}
	if len(recent) == 0 {
		return p, "", false
	}
	first := len(recent) - 1
	for first > 0 && len(recent)-first < maxItems && listed(text[recent[first-1].end:recent[first].start]) {
		first--
	}
	var parts []string
	for _, f := range recent[first:] {
		parts = append(parts, text[f.from:f.to])
	}
	content = strings.Join(parts, ", ")
	rest := span{end, len(text)}
	if value, ok := linked(text, content, rest); ok {
		return value, value.of(text), true
	}
	if value, ok := concluded(text, rest); ok {
		return value, value.of(text), true
	}
	return span{recent[first].from, recent[len(recent)-1].to}, content, true
}

// concluded is the only number of a sentence that says what follows from the
// formulas before it: Therefore, there are 12 ways.
func concluded(text string, rest span) (span, bool) {
	rest.from = max(rest.from, rest.to-longestTail)
	for _, word := range [...]string{"Therefore", "Thus", "Hence", "Consequently"} {
		i := strings.LastIndex(rest.of(text), ". "+word)
		if i < 0 {
			i = strings.LastIndex(rest.of(text), "\n"+word) - 1
		}
		if i < -1 {
			continue
		}
		sentence := span{rest.from + i + 2, rest.to}.until(text, ". ")
		number, ok := onlyNumber(text, sentence)
		if p, _, ends := ending(text[:sentence.to]); ok && ends && p.from >= sentence.from {
			return p, true
		}
		return number, ok
	}
	return span{}, false
}

// onlyNumber is the number of a sentence that has no other.
func onlyNumber(text string, sentence span) (span, bool) {
	p, _, ok := lastNumber(text[:sentence.to])
	return p, ok && p.from >= sentence.from && !strings.ContainsAny(text[sentence.from:p.from], "0123456789")
}

// linked is the value that a sentence gives a formula with variables: 34 in "the
// largest $n$ is 34".
func linked(text, formula string, rest span) (value span, ok bool) {
	tail := strings.TrimLeft(rest.of(text), " $*)\\")
	for _, verb := range [...]string{"is equal to ", "is ", "are ", "equals ", "must be ", "= "} {
		after, follows := strings.CutPrefix(tail, verb)
		if !follows {
			continue
		}
		a, read := latex.Read(formula)
		if !read || a.Kind != latex.Value || !a.Expr.Any(func(e *algebra.Expr) bool { return e.Op == algebra.Symbol }) {
			return value, false
		}
		from := rest.to - len(after)
		value, ok = statement(text, span{from, from + min(len(after), longestTail)}.until(text, "\n"))
		return value, ok && mathematical(value.of(text))
	}
	return value, false
}

// lastNumber is the last number of a text.
func lastNumber(text string) (p span, content string, ok bool) {
	end := strings.LastIndexAny(text, "0123456789")
	if end < 0 {
		return p, "", false
	}
	from := end
	for from > 0 && end-from < 64 && strings.IndexByte("0123456789.,/", text[from-1]) >= 0 {
		from--
	}
	if from > 0 && (text[from-1]|0x20 >= 'a' && text[from-1]|0x20 <= 'z') {
		return p, "", false // of a name, H2
	}
	if from > 0 && text[from-1] == '-' {
		from--
	}
	from = end + 1 - len(strings.TrimLeft(text[from:end+1], ".,/"))
	return span{from, end + 1}, text[from : end+1], true
}
