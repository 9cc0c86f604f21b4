// Package agreement says whether what was measured is what was predicted: a
// time, a variance relative to another, a mean, a share of a processor. Every
// comparison has a stated tolerance and a standard error, and a stated rate of
// false alarms.
package agreement

import "math"

// Verdict is the outcome of one comparison: with the paper, or of what was
// measured with what was predicted, in words that tables show.
type Verdict string

// Verdicts. The first four pass, Differs and Absent fail, the others do neither.
const (
	Agrees  Verdict = "agrees"              // rounds to the expected number, or is within the tolerance
	Within  Verdict = "agrees within noise" // no further than Sigmas standard errors
	Tie     Verdict = "tie within noise"    // another choice, as good as the expected one within Sigmas standard errors
	Near    Verdict = "within 2 s.d."       // of a forecast: no further than Deviations of its standard deviations
	Differs Verdict = "differs"
	Absent  Verdict = "missing"         // not among the results, though their stage has run
	NotRun  Verdict = "not run"         // the stage that finds it out has not run
	Shown   Verdict = "shown"           // no claim is made about it
	Fitted  Verdict = "fitted"          // shown: the prediction has seen the measurement
	TooFew  Verdict = "not enough runs" // shown: fewer than LeastRuns
)

// Passes reports whether the verdict is one of agreement.
func (v Verdict) Passes() bool { return v == Agrees || v == Within || v == Tie || v == Near }

const (
	// Sigmas is how many standard errors count as noise: chance alone exceeds it
	// in 0.3% of comparisons.
	Sigmas = 3

	// Float is the slack for the rounding of decimal fractions to float64.
	Float = 1e-12

	// TimeTolerance is how far a predicted time may be from the measured one,
	// relative to that, whatever its error.
	TimeTolerance = 0.05

	// LeastRuns is how many runs a variance is estimated from at least. From 10
	// runs its standard error is half of it.
	LeastRuns = 10

	// FalseAlarms is the probability that two profiles that count rollouts of the
	// same success probabilities are said to differ, by all tests together.
	FalseAlarms = 0.01

	// MostCPU is the share of the processors of its machine that the orchestrator
	// may take during a timed run.
	MostCPU = 0.05
)

// Estimate is a number with its standard error: 0 when exact, NaN when unknown.
type Estimate struct{ Value, SE float64 }

// Difference is a measured number minus a predicted one.
type Difference struct {
	Estimate
	Z       float64 // in standard errors; NaN where there is none
	Verdict Verdict
}

// Time compares a measured time with a predicted one, by the standard error of
// their difference. The difference is relative to the measured time. An unknown
// error leaves the tolerance alone to judge by.
func Time(measured, predicted, se float64) Difference {
	d := minus(Estimate{measured, se}, Estimate{predicted, 0})
	d.Value /= measured
	d.SE /= measured
	if math.Abs(d.Value) <= TimeTolerance {
		d.Verdict = Agrees
	}
	return d
}

// Mean compares the mean of a sample with the number that it estimates. That of a
// single run has an unknown error.
func Mean(s Sample, truth Estimate) Difference {
	se := math.NaN()
	if s.Runs > 1 {
		se = math.Sqrt(s.Variance / float64(s.Runs))
	}
	d := minus(Estimate{s.Mean, se}, truth)
	if s.Runs < LeastRuns {
		d.Verdict = TooFew
	}
	return d
}

// minus is the difference of independent estimates, judged by its error alone.
func minus(measured, predicted Estimate) Difference {
	d := Difference{Estimate: Estimate{measured.Value - predicted.Value, math.Hypot(measured.SE, predicted.SE)}}
	d.Z = d.Value / d.SE
	if d.Value == 0 {
		d.Z = 0
	}
	d.Verdict = byNoise(d.Z)
	return d
}

// byNoise is the verdict on a difference of z standard errors.
func byNoise(z float64) Verdict {
	if math.Abs(z) <= Sigmas {
		return Within
	}
	return Differs // an unknown z as well: nothing excuses the difference
}

// CPU judges the orchestrator's share of the processors.
func CPU(share float64) Verdict {
	if share < MostCPU {
		return Agrees
	}
	return Differs
}
