package text

import (
	"context"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"speceval/internal/scoring"
	"speceval/internal/scoring/words"
)

// NumberVersion names the rules for numbers in scores and profiles.
const NumberVersion = "speceval_number_v3"

// Number scores answers that are a number, which may be off by a tolerance.
//
// The number of a response is the one in its last box, or, where there is no box, the
// last one that it states, see [words.States]. A box that holds two numbers, or more
// than a number with a name, a unit or a currency, holds none. What is read of a number
// is at parse. Numbers are compared as exact fractions: 3.13 is within 0.01 of 3.14,
// and nothing overflows. What is no finite number is never right.
type Number struct {
	gold  value
	off   *big.Rat // by which an answer may differ
	fault string   // of gold or the tolerance: nothing is right
}

// NewNumber is the scorer for a task whose right answer is gold, within a tolerance: a
// number, by which answers may differ, or a share of the right answer in percent; ""
// for none. With a fault of either every response is wrong.
func NewNumber(gold, tolerance string) *Number {
	s := &Number{fault: NumberFault(gold), off: new(big.Rat)}
	if s.fault == "" {
		s.fault = ToleranceFault(gold, tolerance)
	}
	if s.fault != "" {
		return s
	}
	s.gold, _ = parse(gold)
	if t, ok := parse(tolerance); ok {
		s.off = t.number
		if t.percent {
			s.off.Mul(s.off, new(big.Rat).Abs(s.gold.number)).Mul(s.off, hundredth)
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
	case !ok || t.number.Sign() < 0:
		return fmt.Sprintf("is %.40q, must be a number from 0 on, such as 0.01, or a share of the answer, such as 1%%", tolerance)
	case t.percent && strings.Contains(tolerance, "/"):
		return fmt.Sprintf("is %.40q, must be a share of the answer without a fraction, such as 1%%", tolerance)
	}
	if g, ok := parse(gold); ok && t.percent && g.number.Sign() == 0 {
		return fmt.Sprintf("is %.40q, and a share of 0 is nothing: give a number", tolerance)
	}
	return ""
}

// Score never fails.
func (s *Number) Score(_ context.Context, r scoring.Response) (scoring.Verdict, error) {
	if s.fault != "" {
		return scoring.Verdict{Note: scoring.Shorten("the right answer or its tolerance " + s.fault)}, nil
	}
	found, text, note := stated(r)
	v := scoring.Verdict{Answer: scoring.Shorten(text), Note: note}
	if found != nil {
		v.Reward = scoring.PassFail(s.right(*found))
	}
	return v, nil
}

// right reports whether a number is the right one. A percent sign on one side alone
// divides by 100. Compared with a bare number above 1, which must be a percentage,
// it may also be ignored.
func (s *Number) right(v value) bool {
	near := func(a *big.Rat) bool {
		d := new(big.Rat).Sub(a, s.gold.number)
		return d.Abs(d).Cmp(s.off) <= 0
	}
	if v.percent == s.gold.percent {
		return near(v.number)
	}
	scale, bare := hundredth, s.gold.number
	if s.gold.percent {
		scale, bare = big.NewRat(100, 1), v.number
	}
	isShare := new(big.Rat).Abs(bare).Cmp(big.NewRat(1, 1)) <= 0
	return near(new(big.Rat).Mul(v.number, scale)) || !isShare && near(v.number)
}

// stated is the number of a response, as it stands in the text: nil if there is none,
// and then note says why.
func stated(r scoring.Response) (found *value, text, note string) {
	final := readFinal(r)
	if final.boxed {
		note = inBox(final.text)
		if all := scan(final.text); note == "" {
			found = &all[0]
		}
		return found, final.text, note
	}
	if final.text == "" {
		return nil, "", final.note
	}
	all := scan(tail(r.Text))
	for i := len(all) - 1; i >= 0; i-- {
		v := all[i]
		switch stance := words.States(v.text, v.from, v.to); {
		case stance == words.Denied:
			continue
		case stance == words.Neither:
			return nil, v.String(), "no box, and the last number is not stated as the answer"
		case v.number == nil:
			return nil, v.String(), "no box, and the last number cannot be read"
		}
		return &v, v.String(), "no box: the last number was read"
	}
	return nil, "", "no box, and no number"
}

// inBox says why a box does not hold one number and nothing that would change it; ""
// if it does.
func inBox(text string) string {
	if len(text) > longest {
		return "the box holds more than a number"
	}
	all := scan(text)
	switch {
	case len(all) == 0:
		return "the box holds no number"
	case len(all) > 1:
		return "the box holds several numbers"
	case all[0].number == nil:
		return "the number in the box cannot be read"
	}
	before, v, behind := all[0].text[:all[0].from], all[0].String(), all[0].text[all[0].to:]
	for range 4 {
		behind = unit.ReplaceAllString(behind, "$1 ")
	}
	if changing.MatchString(harmless.ReplaceAllString(before+" "+behind, " ")) || variable.MatchString(behind) ||
		words.States(before+v+behind, len(before), len(before+v)) != words.Stated {
		return "the box holds more than a number"
	}
	return ""
}

var (
	// harmless are commands of LaTeX that change nothing about a number.
	harmless = regexp.MustCompile(`\\(?:text(?:bf|rm|it|tt)?|mathrm|mathbf|operatorname|quad|qquad|approx|sim|left|right|circ|degree|mu|Omega|displaystyle|[,;:! $%{}])`)
	// unit is what follows the letters of a unit in one that is a power, a quotient or a
	// product, m^2, km/h, N·m.
	unit = regexp.MustCompile(`(\p{L}\}?)(?:\^\{?-?\d\}?|\s*(?:/|\\cdot|·)\s*(?:\\(?:text|mathrm)\{\s*)?\(?\p{L}+\}?(?:\^\{?-?\d\}?)?)`)
	// changing is what makes a number another one.
	changing = regexp.MustCompile(`(?i)[√π∞/*+\\<>≤≥≠!']|sqrt|\bpi\b|\binf|\bnan\b|\b[ie]\b|[a-z]\(`)
	// variable is a letter behind a number that is no unit.
	variable = regexp.MustCompile(`(?:^|[^\p{L}\\])[bcdefijknopqrtuvwxyz](?:[^\p{L}]|$)`)
)

// longest is the length of the longest text in which a number is looked for, in
// bytes.
const longest = 2000

// tail is the end of a text, around its last digit.
func tail(text string) string {
	at := strings.LastIndexAny(text, "0123456789")
	from, to := max(0, at-longest/2), min(len(text), max(0, at)+longest/2)
	return strings.ToValidUTF8(text[from:to], " ")
}
