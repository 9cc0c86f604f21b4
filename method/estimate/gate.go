package estimate

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// GateRate is how often a gate may be wrong, over all its looks together: how often it
// calls a model no worse that is worse by the margin or more, and how often it calls one
// worse that is not.
const GateRate = 0.05

// Gate asks whether a model is no worse than a baseline by a margin.
type Gate struct {
	Margin float64 // δ, at least 0 and less than 1: how much worse still passes

	// Looks is the number of times that the question may be asked, of evaluations that
	// grow from one look to the next, and Look is which of them this is, from 1. Zeros
	// stand for the only one. Looks is fixed before the first.
	Look, Looks int
}

// Outcome is what a gate finds.
type Outcome int

// The outcomes of a gate.
const (
	Undecided Outcome = iota // the evaluations cannot tell
	NoWorse                  // than the margin
	Worse                    // than the margin
)

// String is the outcome in words.
func (o Outcome) String() string {
	return [...]string{"undecided", "no worse", "worse"}[o]
}

// Verdict is the outcome of a gate with what it was found by.
type Verdict struct {
	Gate
	Outcome Outcome

	// Low and High are the confidence bounds of the difference, each with the error rate
	// Rate: the model is no worse if Low is above −Margin, worse if High is below it.
	Low, High float64
	Rate      float64

	// Sign is −1 if the model is below the baseline by these bounds, +1 if it is above,
	// and 0 if neither has been shown. A model may be below and yet within the margin.
	Sign int
}

// mostLooks is the largest number of looks: the first has the error rate 0.05/(2^20−1).
const mostLooks = 20

// check says what is wrong with a gate, if anything, and makes zeros the only look.
func (g Gate) check() (Gate, error) {
	if g.Look == 0 && g.Looks == 0 {
		g.Look, g.Looks = 1, 1
	}
	switch {
	case !(g.Margin >= 0 && g.Margin < 1):
		return g, fmt.Errorf("a gate with a margin of %v: want a number from 0 to 1, such as 0.02 for two points", g.Margin)
	case g.Looks < 1 || g.Looks > mostLooks:
		return g, fmt.Errorf("a gate with %d looks: want 1 to %d", g.Looks, mostLooks)
	case g.Look < 1 || g.Look > g.Looks:
		return g, fmt.Errorf("look %d of %d: want 1 to %d", g.Look, g.Looks, g.Looks)
	}
	return g, nil
}

// rate is the error rate of either bound at this look. Each look has twice that of the
// one before, and all together have GateRate: whatever depends on what, the chance that
// any of them is wrong is at most their sum (Bonferroni). Where each look has twice the
// rollouts of the one before, the last keeps more than half of the rate this way, and the
// first ones still find what is obvious. The bounds of group sequential tests are tighter,
// but hold for independent increments only: an extended evaluation weighs what it has by
// weights fixed beforehand, not by the precision that came out.
func (g Gate) rate() float64 {
	return GateRate * math.Ldexp(1, g.Look-1) / (math.Ldexp(1, g.Looks) - 1)
}

// Judge asks the gate of a difference, model less baseline: of two means on the same
// tasks (Mean.Bounded and Bounded.Minus) or, for what the tasks are a sample of, of
// pairs of tasks (Sample.Minus). A gate that is none is an error.
func (g Gate) Judge(difference Bounded) (Verdict, error) {
	g, err := g.check()
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Gate: g, Rate: g.rate()}
	v.Low, v.High = difference.Bounds(v.Rate)
	switch {
	case v.Low > -g.Margin:
		v.Outcome = NoWorse
	case v.High < -g.Margin:
		v.Outcome = Worse
	}
	switch {
	case v.High < 0:
		v.Sign = -1
	case v.Low > 0:
		v.Sign = 1
	}
	return v, nil
}

// Power is the probability that a model as good as the baseline is found to be no worse
// at this look, where the difference has the given standard error: Φ(δ/se − z), and 1
// where the error is 0. By the last look it is at least that.
func (g Gate) Power(standardError float64) (float64, error) {
	g, err := g.check()
	if err != nil {
		return 0, err
	}
	if !(standardError >= 0) {
		return 0, fmt.Errorf("a standard error of %v: want a number from 0", standardError)
	}
	if standardError == 0 && g.Margin > 0 {
		return 1, nil
	}
	standardError = max(standardError, math.SmallestNonzeroFloat64)
	return distuv.UnitNormal.CDF(g.Margin/standardError + distuv.UnitNormal.Quantile(g.rate())), nil
}

// Needs is the standard error of the difference at which Power is the given one, more
// than the rate of the look and less than 1: δ/(z + z of the power).
func (g Gate) Needs(power float64) (float64, error) {
	g, err := g.check()
	if err != nil {
		return 0, err
	}
	z := distuv.UnitNormal.Quantile
	if !(power < 1 && power > g.rate()) {
		return 0, fmt.Errorf("a power of %v: want a number above the error rate %.3g and below 1", power, g.rate())
	}
	if g.Margin == 0 {
		return 0, fmt.Errorf("a margin of 0 cannot be planned for: a model as good as the baseline passes in %g of the cases, whatever is spent", g.rate())
	}
	return g.Margin / (z(power) - z(g.rate())), nil
}

// NeedsBeside is the standard error that the model's evaluation needs for a difference
// with that of Needs, beside a baseline that has its own and gets no further rollouts.
// It is an error if the baseline's is too large for any evaluation.
func (g Gate) NeedsBeside(baseline, power float64) (float64, error) {
	both, err := g.Needs(power)
	if err != nil {
		return 0, err
	}
	if !(baseline < both) {
		return 0, fmt.Errorf("the baseline has a standard error of %.4f, and the difference may have %.4f: extend the baseline, or ask for a wider margin", baseline, both)
	}
	return math.Sqrt((both - baseline) * (both + baseline)), nil
}
