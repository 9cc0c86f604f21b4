// Package number scores answers that are a number, which may be off by a tolerance.
//
// The number of a response is the one in its last box, or, where there is no box,
// the last one of all. A box that holds two numbers, or more than a number with a
// name, a unit or a currency, holds none. What is read of a number is at [Parse].
// Numbers are compared as exact fractions: 3.13 is within 0.01 of 3.14, and nothing
// overflows. What is no finite number is never right.
package number

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"speceval/internal/scoring"
)

// Version names the rules of this package in scores and profiles.
const Version = "speceval_number_v2"

// Scorer scores responses to a task with a known number.
type Scorer struct {
	gold  value
	off   *big.Rat // by which an answer may differ
	fault string   // of gold or the tolerance: nothing is right
}

var _ scoring.Scorer = (*Scorer)(nil)

// New is the scorer for a task whose right answer is gold, within a tolerance: a
// number, by which answers may differ, or a share of the right answer in percent;
// "" for none. With a Fault or a ToleranceFault every response is wrong.
func New(gold, tolerance string) *Scorer {
	s := &Scorer{fault: Fault(gold), off: new(big.Rat)}
	if s.fault == "" {
		s.fault = ToleranceFault(gold, tolerance)
	}
	if s.fault != "" {
		return s
	}
	s.gold, _ = parse(gold)
	if tolerance != "" {
		t, _ := parse(tolerance)
		s.off.Set(t.number)
		if t.percent {
			s.off.Mul(s.off, new(big.Rat).Abs(s.gold.number)).Mul(s.off, hundredth)
		}
	}
	return s
}

var hundredth = big.NewRat(1, 100)

// Fault says why a text is no right answer, "" if it is one.
func Fault(gold string) string {
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
func (s *Scorer) Score(_ context.Context, r scoring.Response) (scoring.Verdict, error) {
	if s.fault != "" {
		return scoring.Verdict{Note: scoring.Shorten("the right answer or its tolerance " + s.fault)}, nil
	}
	found, text, note := read(r)
	v := scoring.Verdict{Answer: scoring.Shorten(text), Note: note}
	if found != nil {
		v.Reward = scoring.PassFail(s.right(*found))
	}
	return v, nil
}

// right reports whether a number is the right one. A percent sign on one side alone
// divides by 100. Compared with a bare number above 1, which must be a percentage,
// it may also be ignored.
func (s *Scorer) right(v value) bool {
	if v.percent == s.gold.percent {
		return s.near(v.number, s.gold.number, s.off)
	}
	scale, bare := hundredth, s.gold.number
	if s.gold.percent {
		scale, bare = big.NewRat(100, 1), v.number
	}
	isShare := new(big.Rat).Abs(bare).Cmp(big.NewRat(1, 1)) <= 0
	return s.near(new(big.Rat).Mul(v.number, scale), s.gold.number, s.off) || !isShare && s.near(v.number, s.gold.number, s.off)
}

// near tells whether two numbers differ by no more than off.
func (s *Scorer) near(a, b, off *big.Rat) bool {
	d := new(big.Rat).Sub(a, b)
	return d.Abs(d).Cmp(off) <= 0
}

// Check compares a prediction by itself with gold, without a tolerance, as a file
// of labelled cases has them.
func Check(gold, prediction string) scoring.Verdict {
	v, _ := New(gold, "").Score(context.Background(), scoring.Response{Text: prediction})
	return v
}

// read is the number of a response, as it stands in the text: nil if there is none,
// and then note says why.
func read(r scoring.Response) (found *value, text, note string) {
	final := scoring.ReadFinal(r)
	if final.Boxed {
		return inBox(final.Text)
	}
	if final.Text == "" {
		return nil, "", final.Note
	}
	all := scan(tail(r.Text))
	if len(all) == 0 {
		return nil, "", "no box, and no number"
	}
	last := all[len(all)-1]
	if last.number == nil {
		return nil, last.text, "no box, and the last number cannot be read"
	}
	return &last, last.text, "no box: the last number was read"
}

// inBox is the number in a box that holds one and nothing that would change it.
func inBox(text string) (found *value, shown, note string) {
	if len(text) > longest {
		return nil, text, "the box holds more than a number"
	}
	all := scan(text)
	switch {
	case len(all) == 0:
		return nil, text, "the box holds no number"
	case len(all) > 1:
		return nil, text, "the box holds several numbers"
	case all[0].number == nil:
		return nil, text, "the number in the box cannot be read"
	case changes(all[0].rest):
		return nil, text, "the box holds more than a number"
	}
	return &all[0], text, ""
}

// longest is the length of the longest text in which a number is looked for, in
// bytes.
const longest = 2000

// tail is the end of a text, around its last digit.
func tail(text string) string {
	at := strings.LastIndexAny(text, "0123456789")
	from, to := max(0, at-longest/2), min(len(text), max(0, at)+longest/2)
	return strings.ToValidUTF8(text[from:to], " ")
}
