package estimate

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"speceval/method/sequential"
)

// GateRate is how often a gate may be wrong, over all its looks together: how often it
// calls a model no worse that is worse by the margin or more, and how often it calls one
// worse that is not.
const GateRate = 0.05

// spending is the exponent κ of the power family by which a gate spends GateRate: GateRate·t^κ
// at a part t of the largest budget (Kim and DeMets, Biometrika 74, 1987). With 5 looks from a
// quarter on and with 13, the largest budget is then 1.03 times the budget of a gate with one
// look; of 13 by the spending function of O'Brien and Fleming it is 1.06 times.
func spending(looks int) float64 {
	if looks < 7 {
		return 3
	}
	return 4
}

// Futility is the chance to pass below which a gate is not worth going on with. It is the
// chance of a model as good as the baseline, given the look (stochastic curtailment: Lan,
// Simon and Halperin, Sequential Analysis 1, 1982). By this such a model is failed in at most
// Futility/(1 − Futility) of the cases in which it would not pass anyway: 1.1% where it passes
// in 80%, and 1.5% where it takes a better one for that. No error of a verdict grows by it,
// also where the gate goes on.
const Futility = 0.05

// Gate asks whether a model is no worse than a baseline by a margin, at one look or at
// several, of an evaluation that grows in between.
type Gate struct {
	Margin float64 // δ, at least 0 and less than 1: how much worse still passes
	Looks  int     // that there will be at most; of no account where there is one

	bounds sequential.Bounds
}

// Look is a look at the difference of a model and its baseline. A gate with one look needs
// nothing but the difference, and Time 1.
type Look struct {
	// Difference is model less baseline: of two means on the same tasks (Mean.Bounded and
	// Bounded.Minus) or, for what the tasks are a sample of, of pairs of tasks (Sample.Minus).
	Difference Bounded

	Time float64 // the part of the largest budget that is spent, more than at the look before; 1 at the last look

	// Own is the variance of the model's estimate over its rollouts. What else the variance
	// of the difference has is of all looks.
	Own float64

	// Kept is the weight of the estimate of the look before in this one, and Before the
	// variance that it had: Own is Kept²·Before and more. They are not read at the first look.
	Kept, Before float64

	// Ahead is the weight that this estimate will have in the one of the last look.
	Ahead float64
}

// Outcome is the finding of a gate.
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

// Verdict is the outcome of a look, with the numbers behind it.
type Verdict struct {
	Outcome Outcome

	// Low and High are the confidence bounds of the difference, each with the error rate
	// Rate: the model is no worse if Low is above −Margin, worse if High is below it.
	Low, High float64
	Rate      float64

	// Sign is −1 if the model is below the baseline by these bounds, +1 if it is above,
	// and 0 if neither has been shown. A model may be below and yet within the margin.
	Sign int

	Power  float64 // probability that a model as good as the baseline is found to be no worse at a look with this error
	Chance float64 // to pass at the last look, of such a model, given this one; 0 or 1 at the last look
	Futile bool    // undecided, and Chance is below Futility
}

// tiny stands for a standard error of 0.
const tiny = 1e-300

// mostCorrelation is the largest correlation of two looks that bounds are computed for: a
// smaller one than the true one makes bounds wider, by nearly nothing here.
const mostCorrelation = 0.999

// Judge asks the gate at a look. The bounds of all looks follow from the joint law of the
// estimates (package sequential), which is normal in the limit: given the past, fresh rollouts
// are unbiased, so that the estimates of two looks have the covariance Kept·Before, for any
// weight that was fixed beforehand. Looks that are further apart are taken to depend on each
// other through those in between, which is exact without a baseline's variance or by the best
// weights, and nearly so otherwise. A gate or a look that is none is an error.
func (g *Gate) Judge(l Look) (Verdict, error) {
	difference := l.Difference
	switch {
	case !(g.Margin >= 0 && g.Margin < 1):
		return Verdict{}, fmt.Errorf("a gate with a margin of %v: want a number from 0 to 1, such as 0.02 for two points", g.Margin)
	case !(l.Time > 0 && l.Time <= 1):
		return Verdict{}, fmt.Errorf("a look at %v of the budget: want more than 0, and 1 at the last look", l.Time)
	}
	always := max(0, difference.StandardError*difference.StandardError-l.Own)
	now, before := always+l.Own, always+l.Before
	correlation := min(mostCorrelation, (always+l.Kept*l.Before)/math.Sqrt(now*before))
	bound, rate, err := g.bounds.Next(correlation, GateRate*math.Pow(l.Time, spending(g.Looks)))
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Rate: rate}
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
	se := max(difference.StandardError, tiny)
	v.Power = distuv.UnitNormal.CDF((g.Margin - bound*se) / se)
	if l.Time < 1 {
		v.Chance = g.chance(difference.Value, now, always+l.Ahead*l.Own)
		v.Futile = v.Outcome == Undecided && v.Chance < Futility
	} else if v.Outcome == NoWorse {
		v.Chance = 1
	}
	return v, nil
}

// chance is the chance to pass at the last look, where the difference will have the variance
// last, given that it is value now. The model is taken to be as good as the baseline; where
// it takes more to pass in 80% of the cases, as good as that.
func (g *Gate) chance(value, now, last float64) float64 {
	z := -distuv.UnitNormal.Quantile(GateRate)
	truth := max(0, (z+power)*math.Sqrt(last)-g.Margin)
	known := last / now // the weight of this look in the last one
	mean := truth + known*(value-truth)
	return distuv.UnitNormal.CDF((mean + g.Margin - z*math.Sqrt(last)) / max(math.Sqrt(last*(1-known)), tiny))
}

// power is the power of planned tests, 80%, as a quantile of the standard normal.
const power = 0.8416212335729143

// Resolving is the standard error at which a true difference is found by a two-sided test at
// 5% four times in five. For a difference of two evaluations it is the standard error of
// both together, √2 times the one of each where they are alike.
func Resolving(difference float64) float64 { return math.Abs(difference) / (quantile + power) }

// Resolved is the inverse of Resolving: the true difference that is found four
// times in five under this standard error of a difference.
func Resolved(standardError float64) float64 { return standardError / Resolving(1) }

// Budgets are the rollouts per task at which the two evaluations behind a difference would
// find a true difference other than 0 four times in five, at least 2 each. given
// are the budgets that they had. Both grow by the same factor, the inverse ratio of
// the variances: no more is needed, since the allocation gets better with the
// budget.
func (b Bounded) Budgets(given [2]int, difference float64) [2]int {
	factor := math.Pow(b.StandardError/Resolving(difference), 2)
	for i, n := range given {
		given[i] = max(2, int(math.Ceil(factor*float64(n))))
	}
	return given
}

// Bounded is an estimate with confidence bounds at every error rate: of a mean, or of
// the difference of two.
type Bounded struct {
	Value         float64
	StandardError float64
	Low, High     float64 // ends of the 95% interval

	bounds func(rate float64) (low, high float64)
}

// everyday is the error rate of either bound of a 95% interval.
const everyday = 0.025

func newBounded(value, standardError float64, bounds func(rate float64) (low, high float64)) Bounded {
	b := Bounded{Value: value, StandardError: standardError, bounds: bounds}
	b.Low, b.High = bounds(everyday)
	return b
}

// Bounds are the lower and the upper confidence bound, each with the given error rate
// of its own, more than 0 and less than 1/2: Low and High at 0.025.
func (b Bounded) Bounds(rate float64) (low, high float64) { return b.bounds(rate) }

// Minus is the difference of two independent estimates. Its bounds join theirs as
// Newcombe's do (Statistics in Medicine 17, 1998, method 10), and its 95% interval the
// intervals as they are stored.
func (b Bounded) Minus(other Bounded) Bounded {
	d := newBounded(b.Value-other.Value, math.Hypot(b.StandardError, other.StandardError), func(rate float64) (low, high float64) {
		return minus(b, other, 0, rate)
	})
	d.Low = d.Value - math.Hypot(b.Value-b.Low, other.High-other.Value)
	d.High = d.Value + math.Hypot(b.High-b.Value, other.Value-other.Low)
	return d
}

// minus is the bounds of b − other, whose errors have a correlation (Zou and Donner,
// Statistics in Medicine 27, 2008; Newcombe's where it is 0).
func minus(b, other Bounded, correlation, rate float64) (low, high float64) {
	ownLow, ownHigh := b.Bounds(rate)
	otherLow, otherHigh := other.Bounds(rate)
	join := func(x, y float64) float64 { return math.Sqrt(max(0, x*x+y*y-2*correlation*x*y)) }
	value := b.Value - other.Value
	return value - join(b.Value-ownLow, otherHigh-other.Value), value + join(ownHigh-b.Value, other.Value-otherLow)
}

// Bounded is the mean with bounds at every error rate. They are Wilson's, each for as
// many draws as its end of the 95% interval stands for, which may therefore be any: one
// of a stored baseline, or none where all three numbers are the same.
func (m Mean) Bounded() Bounded {
	b := newBounded(m.Value, m.StandardError, func(rate float64) (low, high float64) {
		z := -distuv.UnitNormal.Quantile(rate)
		low, _ = score(m.Value, draws(m.Value, m.Low), z)
		_, high = score(m.Value, draws(m.Value, m.High), z)
		return low, high
	})
	b.Low, b.High = m.Low, m.High
	return b
}

// Stored is a mean that has been written down. Without an interval, low and high being
// the value, it counts as known exactly. It is an error if the value is not within the interval,
// or the interval not within 0 and 1.
func Stored(value, standardError, low, high float64) (Mean, error) {
	if !(0 <= low && low <= value && value <= high && high <= 1 && standardError >= 0 && standardError <= 1) {
		return Mean{}, fmt.Errorf("%v ± %v, %v to %v: a mean and its 95%% interval must be numbers between 0 and 1, the mean within the interval", value, standardError, low, high)
	}
	return Mean{Value: value, StandardError: standardError, Low: low, High: high}, nil
}

// draws is the number of draws whose Wilson's 95% interval about a share has a given end:
// there the share is a standard normal's 97.5% quantile of errors away.
func draws(share, end float64) float64 {
	if share == end {
		return math.Inf(1)
	}
	return quantile * quantile * end * (1 - end) / ((share - end) * (share - end))
}

// score is Wilson's interval about the share of one kind among draws, which need not be a
// whole number, z errors to each side.
func score(share, draws, z float64) (low, high float64) {
	if math.IsInf(draws, 1) {
		return share, share
	}
	center := (draws*share + z*z/2) / (draws + z*z)
	half := z * math.Sqrt(draws*share*(1-share)+z*z/4) / (draws + z*z)
	return min(share, max(0, center-half)), max(share, min(1, center+half))
}
