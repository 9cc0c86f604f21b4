package choice

import (
	"slices"
	"strings"

	"speceval/internal/scoring/words"
)

// class is the effect of a word on a statement about an option.
type class = words.Class

// Classes of words, by what they do to a letter.
const (
	verb    = words.Modal | words.Verb
	leads   = words.Turns | words.Leads
	breaks  = words.Breaks | words.Turns | words.Parts
	noun    = words.Noun
	given   = words.Given
	opens   = words.Turns | words.Breaks | words.Leads | words.Neutral | words.Filler // may stand before a noun that is the answer
	fills   = words.Noun | words.Turns | words.Filler                                 // may stand between a claim and its letter
	joins   = words.Joins
	denies  = words.Denies | words.Refutes | words.Strikes
	doubts  = words.Doubts | words.Unsure
	others  = words.Others
	aside   = words.Aside
	follows = words.Breaks | words.Turns | words.Follows

	known = words.Neutral | words.Filler | verb | leads | breaks | noun | given | opens | joins | denies | doubts | others | aside | follows
)

// classOf returns the classes of a word, in any case, that say something of letters.
// "Rather" and "wait" begin a statement.
func classOf(w string) class {
	c := words.Of(w) & known
	if c.In(words.Parts | words.Leads) {
		c &^= words.Denies | words.Refutes
	}
	return c
}

// classAt is the classes of the word from from to to, where "anything but" and
// "instead of" deny.
func classAt(s string, from, to int) class {
	switch w := s[from:to]; {
	case is(w, "but"):
		if prior, _ := words.Before(s, from); is(prior, "anything", "all", "everything", "nothing") {
			return denies
		}
	case is(w, "instead") && strings.HasPrefix(s[to:], " of"):
		return denies
	}
	return classOf(s[from:to])
}

// is reports whether a word is one of others, in any case.
func is(w string, others ...string) bool {
	return slices.ContainsFunc(others, func(other string) bool { return strings.EqualFold(w, other) })
}
