package evaluated

import "math"

// Outcome is an evaluation as far as statistics need it.
type Outcome struct {
	Estimate, StandardError float64
	Low, High               float64 // ends of the 95% interval
}

// Tally sums up evaluations of the same tasks by the same policy and budget.
type Tally struct {
	Evaluations  int
	Below, Above int // intervals that lie wholly below the truth, or above

	away    float64 // Σ of estimate − truth
	squares float64 // Σ of its squares
	fourths float64 // Σ of its fourth powers
	stated  float64 // Σ of squared standard errors
	length  float64 // Σ of the intervals' lengths
}

// Add adds an evaluation of tasks whose mean is truth.
func (t *Tally) Add(o Outcome, truth float64) {
	t.Evaluations++
	switch {
	case o.High < truth:
		t.Below++
	case o.Low > truth:
		t.Above++
	}
	square := (o.Estimate - truth) * (o.Estimate - truth)
	t.away += o.Estimate - truth
	t.squares += square
	t.fourths += square * square
	t.stated += o.StandardError * o.StandardError
	t.length += o.High - o.Low
}

// N is the number of evaluations.
func (t *Tally) N() float64 { return float64(t.Evaluations) }

// Coverage is the share of intervals that hold the truth.
func (t *Tally) Coverage() float64 { return 1 - t.MissedLow() - t.MissedHigh() }

// MissedLow is the share of intervals that lie below the truth.
func (t *Tally) MissedLow() float64 { return float64(t.Below) / t.N() }

// MissedHigh is the share of intervals that lie above the truth.
func (t *Tally) MissedHigh() float64 { return float64(t.Above) / t.N() }

// CoverageVariance is the variance of Coverage, by its binomial law.
func (t *Tally) CoverageVariance() float64 { return t.Coverage() * (1 - t.Coverage()) / t.N() }

// Bias is the mean error of the estimates.
func (t *Tally) Bias() float64 { return t.away / t.N() }

// BiasError is the standard error of Bias.
func (t *Tally) BiasError() float64 {
	return math.Sqrt(max(0, t.squares/t.N()-t.Bias()*t.Bias()) / (t.N() - 1))
}

// BiasScore is Bias in standard errors of it.
func (t *Tally) BiasScore() float64 { return t.Bias() / t.BiasError() }

// MeanSquare is the mean squared error with its standard error. The bias is part
// of it, as the truth is known.
func (t *Tally) MeanSquare() (mean, se float64) {
	mean = t.squares / t.N()
	return mean, math.Sqrt(max(0, t.fourths/t.N()-mean*mean) / (t.N() - 1))
}

// Calibration is the root of the stated variance over the mean squared error: 1
// where standard errors are right.
func (t *Tally) Calibration() float64 { return math.Sqrt(t.stated / t.squares) }

// Length is the mean length of the intervals.
func (t *Tally) Length() float64 { return t.length / t.N() }

// ShareError is the standard error of a share that is found in n draws.
func ShareError(share float64, n int) float64 { return math.Sqrt(share * (1 - share) / float64(n)) }

// Quotient is a/b with the standard error that follows from those of the two, by
// the delta method, of independent a and b.
func Quotient(a, aSE, b, bSE float64) (quotient, se float64) {
	quotient = a / b
	return quotient, math.Abs(quotient) * math.Hypot(aSE/a, bSE/b)
}

// VarianceScore is by how many standard errors a variance, found in n evaluations,
// is above the one that is wanted, which has an error of its own. Estimates are
// means over many tasks and as good as normal, so that n times the found over the
// wanted is χ² with n degrees of freedom.
func VarianceScore(found, want, wantSE float64, n int) float64 {
	return (found - want) / math.Hypot(want*math.Sqrt(2/float64(n)), wantSE)
}
