package maths

import (
	"slices"
	"strings"
	"unicode"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// announcements come before an answer; the first of them that a text has
// counts, at its last place.
var announcements = [...]string{"final answer is", "final answer:", "answer is", "answer:", "answer =", "####"}

// announced is what follows an announcement.
func announced(text string) (string, bool) {
	lower := lowered(text)
	for _, phrase := range announcements {
		i := strings.LastIndex(lower, phrase)
		if i < 0 {
			continue
		}
		tail := text[i+len(phrase):]
		tail = strings.TrimLeft(tail, " :*}\n\t")
		tail = tail[:min(len(tail), longestTail)]
		tail, _, _ = strings.Cut(tail, "\n")
		if found, ok := statement(tail); ok {
			return found, true
		}
		sentence, _, _ := strings.Cut(tail, ". ")
		if found, ok := onlyNumber(sentence); ok {
			return found, true
		}
	}
	return "", false
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

// statement is the answer at the beginning of a sentence.
func statement(tail string) (string, bool) {
	whole := trimmed(tail)
	if _, ok := latex.Read(whole); ok {
		return whole, true
	}
	sentence, _, _ := strings.Cut(tail, ". ")
	if sentence = trimmed(sentence); sentence != whole {
		if _, ok := latex.Read(sentence); ok {
			return sentence, true
		}
	}
	if found, rest, ok := firstMath(sentence); ok {
		if value, ok := linked(found, rest); ok {
			return value, true
		}
		return found, true
	}
	words := strings.Fields(sentence)
	for n := min(len(words), mostWords); n > 0; n-- {
		if part := strings.Join(words[:n], " "); mathematical(part) {
			return part, true
		}
	}
	return "", false
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

// ending is the longest answer at the end of a text.
func ending(text string) (string, bool) {
	text = strings.TrimSpace(text)
	text = text[max(0, len(text)-longestTail):]
	words := strings.Fields(text[strings.LastIndexByte(text, '\n')+1:])
	for n := min(len(words), mostWords); n > 0; n-- {
		if wordy(words[len(words)-n]) {
			continue
		}
		if part := trimmed(strings.Join(words[len(words)-n:], " ")); mathematical(part) {
			return part, !qualified(words[:len(words)-n])
		}
	}
	return "", false
}

// delimiters begin and end formulas. The longer ones come first.
var delimiters = [...][2]string{{"$$", "$$"}, {"$", "$"}, {`\(`, `\)`}, {`\[`, `\]`}}

// qualified tells whether the last of some words says that the number after
// them is not the answer: at least 5, more than 5, not 5, twice 5, half of 5.
func qualified(words []string) bool {
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	if last == "}" && len(words) > 1 {
		last = words[len(words)-2]
	}
	if last == "of" && len(words) > 1 {
		last = words[len(words)-2]
		return strings.Contains(" half third quarter tenth square root power multiple factor divisor instead ", " "+lowered(last)+" ")
	}
	last = strings.TrimPrefix(lowered(last), `\text{`)
	return last != "" && strings.Contains(" least most than not under over below above between twice double triple half minus negative ", " "+strings.Trim(last, "}{,")+" ")
}

// formula is a place in a text: of what is between two delimiters, and of both.
type formula struct{ start, from, to, end int }

// formulas calls yield with each formula in dollar signs or brackets, in
// order, until it says no. It says where the last formula that does not end
// begins, -1 if there is none.
func formulas(text string, yield func(formula) bool) (open int) {
	var endless [len(delimiters)]bool // the rest of the text does not have its end
	open = -1
	for i := 0; i < len(text); {
		d := delimiter(text[i:])
		if d < 0 {
			if text[i] == '\\' {
				i++
			}
			i++
			continue
		}
		f := formula{start: i}
		i += len(delimiters[d][0])
		length := -1
		if !endless[d] {
			length = strings.Index(text[i:], delimiters[d][1])
		}
		if length < 0 {
			endless[d], open = true, i
			continue
		}
		f.from, f.to = i, i+length
		i += length + len(delimiters[d][1])
		if f.end = i; strings.TrimSpace(text[f.from:f.to]) != "" && !yield(f) {
			break
		}
	}
	return open
}

// delimiter tells which of the delimiters text begins with; -1 if none.
func delimiter(text string) int {
	if text[0] == '$' || text[0] == '\\' {
		for d := range delimiters {
			if strings.HasPrefix(text, delimiters[d][0]) {
				return d
			}
		}
	}
	return -1
}

// firstMath is the first formula of a text, and what follows it.
func firstMath(text string) (found, rest string, ok bool) {
	formulas(text, func(f formula) bool { found, rest, ok = text[f.from:f.to], text[f.end:], true; return false })
	return found, rest, ok
}

// lastMath is the last formula of a text, with those before it that only a comma
// or a word like "and" separates from it. A formula that does not end goes on to
// the end of the text: if it cannot be read, nothing is.
func lastMath(text string) (found string, ok bool) {
	var recent []formula
	open := formulas(text, func(f formula) bool {
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
		if tail := trimmed(text[open:]); mathematical(tail) {
			return tail, true
		} else if strings.ContainsAny(tail, `\=^_{`) {
			return "", true
		}
	}
	if len(recent) == 0 {
		return "", false
	}
	first := len(recent) - 1
	for first > 0 && len(recent)-first < maxItems && listed(text[recent[first-1].end:recent[first].start]) {
		first--
	}
	var parts []string
	for _, f := range recent[first:] {
		parts = append(parts, text[f.from:f.to])
	}
	found = strings.Join(parts, ", ")
	if value, ok := linked(found, text[end:]); ok {
		return value, true
	}
	if value, ok := concluded(text[end:]); ok {
		return value, true
	}
	return found, true
}

// concluded is the only number of a sentence that says what follows from the
// formulas before it: Therefore, there are 12 ways.
func concluded(rest string) (value string, ok bool) {
	rest = rest[max(0, len(rest)-longestTail):]
	for _, word := range [...]string{"Therefore", "Thus", "Hence", "Consequently"} {
		i := strings.LastIndex(rest, ". "+word)
		if i < 0 {
			i = strings.LastIndex(rest, "\n"+word) - 1
		}
		if i < -1 {
			continue
		}
		sentence, _, _ := strings.Cut(rest[i+2:], ". ")
		number, ok := onlyNumber(sentence)
		if found, ends := ending(sentence); ok && ends {
			return found, true
		}
		return number, ok
	}
	return "", false
}

// onlyNumber is the number of a sentence that has no other.
func onlyNumber(sentence string) (string, bool) {
	number, ok := lastNumber(sentence)
	before, _, _ := strings.Cut(sentence, number)
	return number, ok && !strings.ContainsAny(before, "0123456789")
}

// linked is the value that a sentence gives a formula with variables: 34 in "the
// largest $n$ is 34".
func linked(found, rest string) (value string, ok bool) {
	rest = strings.TrimLeft(rest, " ")
	for _, verb := range [...]string{"is equal to ", "is ", "are ", "equals ", "must be ", "= "} {
		tail, follows := strings.CutPrefix(rest, verb)
		if !follows {
			continue
		}
		a, read := latex.Read(found)
		if !read || a.Kind != latex.Value || !a.Expr.Any(func(e *algebra.Expr) bool { return e.Op == algebra.Symbol }) {
			return "", false
		}
		tail, _, _ = strings.Cut(tail[:min(len(tail), longestTail)], "\n")
		value, ok = statement(tail)
		return value, ok && mathematical(value)
	}
	return "", false
}

// prose tells whether a text has words in it.
func prose(text string) bool {
	run, capital, command := 0, false, false
	for i, r := range text[:min(len(text), 2000)] {
		if unicode.IsLetter(r) {
			if run++; run == 1 {
				capital, command = unicode.IsUpper(r), i > 0 && text[i-1] == '\\'
			}
			continue
		}
		if !command && (run > 2 || run == 2 && capital) {
			return true
		}
		run = 0
	}
	return !command && run > 2
}

// commands tells whether a text has commands of LaTeX: a short one is a formula
// then, of which the last number is a part.
func commands(text string) bool {
	for i := 1; i < len(text); i++ {
		if text[i-1] == '\\' && ('a' <= text[i] && text[i] <= 'z' || 'A' <= text[i] && text[i] <= 'Z') {
			return true
		}
	}
	return false
}

// lastNumber is the last number of a text.
func lastNumber(text string) (string, bool) {
	end := strings.LastIndexAny(text, "0123456789")
	if end < 0 {
		return "", false
	}
	from := end
	for from > 0 && end-from < 64 && strings.IndexByte("0123456789.,/", text[from-1]) >= 0 {
		from--
	}
	if from > 0 && (text[from-1]|0x20 >= 'a' && text[from-1]|0x20 <= 'z') {
		return "", false // of a name, H2
	}
	if from > 0 && text[from-1] == '-' {
		from--
	}
	if qualified(strings.Fields(text[max(0, from-longestTail):from])) {
		return "", false
	}
	return strings.TrimLeft(text[from:end+1], ".,/"), true
}
