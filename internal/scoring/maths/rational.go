package maths

import (
	"math/big"
	"strings"

	"speceval/internal/scoring"
	"speceval/internal/scoring/maths/latex"
)

// Rational is an answer that is a rational number.
type Rational struct {
	Value   *big.Rat
	Percent bool // a percent sign stands behind it
	Bare    bool // it has no name, no unit but a currency, and no words
}

// ReadRationals reads a rational number, perhaps with its name, a unit and what it
// counts, or at the end of a computation: 3 + 4 = 7; in all the forms in which it is there,
// 5.5 hours or 330 minutes. There is none for every other answer, and for a number that words
// bound or change: at most 7.
func ReadRationals(text string) (all []Rational) {
	read, ok := latex.Read(spelled(text))
	if !ok || limit(read) != "" {
		return nil
	}
	c := newComparer()
	for _, a := range c.forms(spelledOut(read)) {
		bare := a.Kind == latex.Value && (a.Unit == "" || strings.Contains("$€£₹¥₩", a.Unit)) && len(a.Nouns) == 0 && (a.Percent || !prose.MatchString(text))
		if name, value := definition(a); name != "" {
			a = value
		} else if a.Kind == latex.Relation && !c.fails(a) {
			if value, computes := c.computed(a, false); computes {
				a = value
			}
		}
		if value, ok := rational(a); ok && constant(a) {
			all = append(all, Rational{value, a.Percent, bare})
		}
	}
	return all
}

// Final is the final answer of a response as a scorer of this package reads it, and a
// note for people where it was not in a box.
func Final(r scoring.Response) (text, note string) {
	found := final(r.Text, !r.Cut, false)
	if answer, ok := labelled(found.Text); ok {
		return answer, found.Note
	}
	return strings.TrimSpace(found.Text), found.Note
}
