package choice

import (
	"strings"
	"unicode/utf8"

	"speceval/internal/scoring/words"
)

// before is the effect on a statement of the words before i in the same clause: they deny or
// doubt it, or speak of others. It is 0 if they do nothing.
func before(s string, i int) class {
	undoes := denies | doubts | others
	later := ""    // the word after
	claim := false // "the answer is" stands there: another clause may end before it
	w, from := words.Before(s, i)
	for range 8 {
		c := classAt(s, from, from+len(w))
		prior, start := words.Before(s, from)
		switch {
		case is(w, "would") && classOf(later).In(opens) && !is(prior, "I", "we"):
			return others // one would think
		case w == "", is(w, "and", "or"), c.In(breaks):
			return 0
		case c.In(undoes) && !(c.In(doubts) && classOf(prior).In(given)): // my best guess
			return c & undoes
		case c.In(noun):
			from, _ = announces(s, from, i)
			prior, start = words.Before(s, from)
			claim = true
		case claim && c == 0: // not of the claim, but of what it follows from
			undoes = doubts
		case !is(w, "the", "my", "our", "that"):
			claim = false
		}
		later, w, i, from = w, prior, from, start
	}
	return 0
}

// after is the effect of the words behind the letter that ends at i: "C is wrong", "C if x >
// 0", "C?".
func after(s string, i int) class {
	s = s[:min(len(s), i+longest)]
	it := next(s, i)
	switch {
	case it.question, it.class.In(doubts), is(s[it.from:it.to], "provided", "depending"):
		return doubts
	case !it.class.In(verb):
		return 0
	}
	var got class
	for ; !it.stop && !it.class.In(breaks); it = next(s, it.to) {
		got |= it.class & (denies | doubts | others)
	}
	return got
}

// item is a word, a letter by itself, the end of a clause, or something else.
type item struct {
	class          class
	mark           mark // its letter is 0 if the item is none
	stop, question bool
	from, to       int
}

// stops end a clause.
var stops = []string{".", ",", ";", ":", "!", "?", "\n", "—", "– ", "- ", "。", "，"}

// next is the item at i.
func next(s string, i int) item {
	for i < len(s) {
		n := 1
		if strings.IndexByte(" \t\r", s[i]) < 0 {
			n = max(opener(s[i:]), prefix(s[i:], closers))
		}
		if n == 0 && s[i] == '\\' {
			n = 1
		}
		if n == 0 {
			break
		}
		i += n
	}
	if i == len(s) {
		return item{stop: true, from: i, to: i}
	}
	if n := prefix(s[i:], stops); n > 0 {
		return item{stop: true, question: s[i] == '?', from: i, to: i + n}
	}
	if n := prefix(s[i:], []string{"✗", "✘", "❌", "✖"}); n > 0 { // which deny what they stand behind
		return item{class: denies | verb, from: i, to: i + n}
	}
	if m := markAt(s, i); m.upper() && (m.closed || m.stands() || m.isSubject()) {
		return item{mark: m, from: i, to: m.to}
	}
	if w := word(s, i); w != "" {
		return item{class: classAt(s, i, i+len(w)), from: i, to: i + len(w)}
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return item{from: i, to: i + n}
}

// longest bounds the bytes of a clause that are read at a place.
const longest = 120

// clause is the content of a clause.
type clause struct {
	mark     mark // its letter is 0 if it names none
	several  bool // it names several
	known    bool // all of its words are in the table
	question bool
	headless bool  // it begins with "is"
	class    class // of all of its words
	to       int
}

// clauseAt reads the clause at i, up to a stop or a word that begins another.
func clauseAt(s string, i int) clause {
	c := clause{known: true}
	begun := false
	for {
		it := next(s, i)
		if begun && (it.class.In(breaks) || strings.EqualFold(s[it.from:it.to], "and") && c.class.In(verb)) {
			c.to = it.from
			return c
		}
		if it.stop {
			c.question, c.to = it.question, it.to
			return c
		}
		switch {
		case it.mark.letter == 0:
			c.headless = c.headless || c.class == 0 && c.mark.letter == 0 && strings.EqualFold(s[it.from:it.to], "is")
			c.class |= it.class
			c.known = c.known && it.class != 0
		case c.mark.letter != 0 && c.mark.letter != it.mark.letter:
			c.several = true
		default:
			c.mark = it.mark
		}
		begun = begun || it.mark.letter != 0 || it.class.In(verb)
		i = it.to
	}
}

// definite reports whether a clause states one option: every word is known, none
// takes it back or leaves it open, and one chooses it.
func (c clause) definite() bool {
	return c.known && c.mark.letter != 0 && !c.several && !c.question && (c.class.In(leads) || c.class.In(noun) && !c.class.In(verb)) && !c.class.In(denies|doubts|others|aside)
}

// amend reads what a text says of the options after i, where got was read
// before: another one that is definitely stated, or that got is none. Clauses
// with a word that is unknown say nothing.
func (s *Scorer) amend(text string, i int, got reading) reading {
	var carried class    // of words before a comma: "Hence, C"
	var subject byte     // the letter that the sentence has named last
	conditional := false // "If x > 0, C is correct"
	for i < len(text) {
		c := clauseAt(text, i)
		i = c.to
		c.class |= carried
		carried = 0
		letter, stop := c.mark.letter, text[i-1]
		skipped := conditional
		conditional = !c.known && c.class.In(doubts) && !c.class.In(others) && stop == ','
		switch {
		case skipped, !c.known, c.headless, c.class.In(others | aside):
		case c.definite() && (!c.class.In(joins) || got.letter == 0 || got.letter == letter):
			got = s.settle(letter)
		case letter == 0:
			if c.class.In(leads|noun) && (stop == ',' || stop == ':') {
				carried = c.class&^denies | leads
			}
			if c.class.In(denies|doubts) && stop != ':' && got.letter != 0 && (subject == 0 || subject == got.letter) {
				got = withdrawn
			}
		case c.several:
			if !c.class.In(denies) && c.class.In(joins|leads) {
				got = ambiguous
			}
		case c.class.In(denies):
			if letter == got.letter {
				got = withdrawn
			}
		case got.letter != 0 && (c.class.In(doubts) || c.question || c.class.In(joins) && letter != got.letter):
			got = ambiguous
		}
		if letter != 0 {
			subject = letter
		}
		if strings.IndexByte(".!?\n", stop) >= 0 {
			subject = 0
		}
	}
	return got
}
