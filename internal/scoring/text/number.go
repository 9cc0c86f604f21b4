package text

import (
	"context"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"speceval/internal/scoring"
	"speceval/internal/scoring/maths"
	"speceval/internal/scoring/words"
)

// NumberVersion names the rules for numbers in scores and profiles.
const NumberVersion = "speceval_number_v13"

// Number scores answers that are a number, which may be off by a tolerance.
//
// The number of a response is the one in its last box, or, where there is no box, the
// last one that it states, see [words.States]. A box that holds two numbers, or more
// than a number with a name, a unit or a currency, holds none. What is read of a number
// is at parse. Numbers are compared as exact fractions: 3.13 is within 0.01 of 3.14,
// and nothing overflows. What is no finite number is never right.
type Number struct {
	gold maths.Rational // without a value nothing is right
	off  *big.Rat       // by which an answer may differ
}

// NewNumber is the scorer for a task whose right answer is gold, within a tolerance: a
// number, by which answers may differ, or a share of the right answer in percent; ""
// for none. With a fault of either every response is wrong.
func NewNumber(gold, tolerance string) *Number {
	s := &Number{off: new(big.Rat)}
	if NumberFault(gold) != "" || ToleranceFault(gold, tolerance) != "" {
		return s
	}
	s.gold, _ = parse(gold)
	if t, ok := parse(tolerance); ok {
		s.off = t.Value
		if t.Percent {
			s.off.Mul(s.off, new(big.Rat).Abs(s.gold.Value)).Mul(s.off, hundredth)
		}
	}
	return s
}

var hundredth = big.NewRat(1, 100)

// NumberFault says why a text is no right answer, "" if it is one.
func NumberFault(gold string) string {
	if _, ok := parse(gold); !ok {
		return fmt.Sprintf("is %.40q, must be a number and nothing else, such as 1,234.5, 6.02e23, 2/3 or 50%%", gold)
	}
	return ""
}

// ToleranceFault says why a text is no tolerance of a right answer, "" if it is one.
func ToleranceFault(gold, tolerance string) string {
	if tolerance == "" {
		return ""
	}
	t, ok := parse(tolerance)
	switch {
	case !ok || t.Value.Sign() < 0:
		return fmt.Sprintf("is %.40q, must be a number from 0 on, such as 0.01, or a share of the answer, such as 1%%", tolerance)
	case t.Percent && strings.Contains(tolerance, "/"):
		return fmt.Sprintf("is %.40q, must be a share of the answer without a fraction, such as 1%%", tolerance)
	}
	if g, ok := parse(gold); ok && t.Percent && g.Value.Sign() == 0 {
		return fmt.Sprintf("is %.40q, and a share of 0 is nothing: give a number", tolerance)
	}
	return ""
}

// Score never fails.
func (s *Number) Score(_ context.Context, r scoring.Response) (scoring.Verdict, error) {
	said := r.Text
	r.Text = words.EnglishEnd(said)
	text, note := maths.Final(r)
	v := scoring.Verdict{Answer: scoring.Shorten(text), Note: note}
	text = strings.TrimPrefix(text, "A: ") // of prompts with Q: and A:
	if found := slices.Concat(read(text), read(words.Continental(text, said))); found != nil {
		v.Reward = scoring.PassFail(s.gold.Value != nil && slices.ContainsFunc(found, s.right))
	} else if note == "" {
		v.Note = "the final answer is no number"
	}
	return v, nil
}

// right reports whether a number is the right one. A percent sign on one side alone
// divides by 100. Compared with a bare number above 1, which must be a percentage,
// it may also be ignored.
func (s *Number) right(v maths.Rational) bool {
	near := func(a *big.Rat) bool {
		d := new(big.Rat).Sub(a, s.gold.Value)
		return d.Abs(d).Cmp(s.off) <= 0
	}
	if v.Percent == s.gold.Percent {
		return near(v.Value)
	}
	scale, bare := hundredth, s.gold.Value
	if s.gold.Percent {
		scale, bare = big.NewRat(100, 1), v.Value
	}
	isShare := new(big.Rat).Abs(bare).Cmp(big.NewRat(1, 1)) <= 0
	return near(new(big.Rat).Mul(v.Value, scale)) || !isShare && near(v.Value)
}

// parse reads a number by itself.
func parse(text string) (maths.Rational, bool) {
	if all := read(text); len(all) == 1 && all[0].Bare {
		return all[0], true
	}
	return maths.Rational{}, false
}

// read reads the number in a final answer, see [maths.ReadRationals], whose digits may
// also be grouped by apostrophes and underscores.
func read(text string) []maths.Rational {
	text = ohms.ReplaceAllString(micro.ReplaceAllString(text, `\$1{u`), `\text{ ohm}`)
	if at := unit.FindStringSubmatchIndex(text); at != nil {
		text = text[:at[2]] + `\text{ ` + strings.NewReplacer("µ", "u", "μ", "u").Replace(text[at[2]:at[3]]) + "}"
	}
	return maths.ReadRationals(grouped.ReplaceAllStringFunc(text, strings.NewReplacer("'", "", "’", "", "_", "").Replace))
}

var (
	// grouped is a number with separators of thousands that mean something else in
	// mathematics.
	grouped = regexp.MustCompile(`\b\d{1,3}(?:['’_]\d{3})+\b`)
	// micro is the prefix of a unit outside of its letters.
	micro = regexp.MustCompile(`\\mu\s*\\(text|mathrm)\{\s*`)
	// unit is $5 a day, or a unit with that prefix in its letters.
	unit = regexp.MustCompile(`\d (an? \pL{3,}|[µμ]\pL+)\.?$`)
	ohms = regexp.MustCompile(`[kM]?(?:Ω|\\Omega)`)
)
