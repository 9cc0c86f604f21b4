//go:build drill

package evaluations_test

import (
	"fmt"
	"math"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/profile"
)

// row is a line of a table: evaluations of the same tasks by one policy at one budget,
// summed up.
type row struct {
	what     string
	budget   int // rollouts per task; 0 where an evaluation stops by what it finds
	profile  profile.Profile
	results  []*evaluation.Result
	truthVar float64 // variance of the profile's own mean; 0 where the truth is known

	stats
	predicted      prediction
	spent, spentSE float64 // rollouts per task, mean
	ratio, ratioSE float64 // of the mean squared error to Uniform's variance with as many rollouts
	stated         float64 // standard error, root of the mean square
	resumed        int     // evaluations that took more than one process
	resumptions    []float64

	// Means over evaluations: seconds, and rollouts.
	seconds, extra, continued, again float64
	tooHigh, tooLow                  float64 // bounds of what asking again did to the estimate

	// Of evaluations that the drill makes on a fleet.
	kills      int // that met a running process
	fast, slow float64
	startups   []float64
	target     float64 // standard error to reach; 0: none
}

// newRow sums evaluations of a profile up. The profile's own error, if it has one, is a
// part of the bias and is subtracted from the variance.
func newRow(what string, budget int, p profile.Profile, results []*evaluation.Result, truthVar float64) *row {
	r := &row{what: what, budget: budget, profile: p, results: results, truthVar: truthVar}
	n, squares := float64(len(results)), 0.0
	for _, one := range results {
		r.add(meanOfResult(one), p.Mean())
		spent := float64(one.Rollouts) / float64(p.N())
		r.spent, squares = r.spent+spent/n, squares+spent*spent/n
		r.stated += one.StandardError * one.StandardError / n
		r.seconds += one.Seconds / n
		r.extra += float64(one.Extra) / n
		r.continued += float64(one.Losses.Continued) / n
		r.again += float64(one.Losses.AskedAgain) / n
		r.tooHigh += one.Losses.TooHigh / n
		r.tooLow += one.Losses.TooLow / n
		if one.Sessions > 1 {
			r.resumed++
			r.resumptions = append(r.resumptions, one.Startup)
		}
	}
	r.stated, r.spentSE = math.Sqrt(r.stated), math.Sqrt(max(0, squares-r.spent*r.spent)/(n-1))
	unit := uniformVariance(p, r.spent)
	square, se := r.meanSquare()
	r.ratio, r.ratioSE = (square-truthVar)/unit, se/unit
	return r
}

// uniformVariance is the variance of Uniform's estimate with so many rollouts per task
// (paper, Section 3).
func uniformVariance(p profile.Profile, rollouts float64) float64 {
	n := float64(p.N())
	return p.VarianceSum() / (n * n * rollouts)
}

// name is the row's, in faults.
func (r *row) name() string { return fmt.Sprintf("%s at %s", r.what, r.rollouts()) }

// rollouts are those per task, a mean where an evaluation stops by what it finds.
func (r *row) rollouts() string {
	if r.budget == 0 {
		return fmt.Sprintf("%.2f", r.spent)
	}
	return fmt.Sprint(r.budget)
}

// biasScore is the bias in standard errors, of which the profile's is a part.
func (r *row) biasScore() float64 {
	return r.bias() / math.Hypot(r.biasError(), math.Sqrt(r.truthVar))
}

// varianceScore is by how many standard errors the variance is above the prediction.
func (r *row) varianceScore() float64 { return varianceScore(r.ratio, r.predicted, r.Evaluations) }

// biasCell and coverageCell are cells of tables.
func (r *row) biasCell() string {
	return fmt.Sprintf("%+.5f ± %.5f (%+.1f s.e.)", r.bias(), r.biasError(), r.biasScore())
}

func (r *row) coverageCell() string {
	return fmt.Sprintf("%.1f%% ± %.1f", 100*r.coverage(), 100*shareError(nominal, r.Evaluations))
}

// criterion is what must hold of every row of a table.
type criterion[R any] struct {
	what  string
	fault func(r R) error // nil if it holds
}

// judge holds rows to criteria, each in a subtest.
func judge[R interface{ name() string }](l *drill.Lab, rows []R, criteria ...criterion[R]) {
	for _, c := range criteria {
		l.Sub(c.what, func(l *drill.Lab) {
			for _, r := range rows {
				if err := c.fault(r); err != nil {
					l.Errorf("%s: %v", r.name(), err)
				}
			}
		})
	}
}

// unbiased: the bias is no larger than by chance.
func unbiased(bound float64) criterion[*row] {
	return criterion[*row]{fmt.Sprintf("no bias of more than %.2f standard errors", bound), func(r *row) error {
		if z := r.biasScore(); math.Abs(z) > bound {
			return fmt.Errorf("%.1f standard errors", z)
		}
		return nil
	}}
}

// mostOutside is how far the coverage of a row may be outside of 93–97%: one of 95% is
// further out with a probability below one in a thousand, from 150 evaluations on.
const mostOutside = 2

// covered: the coverage is in a range, or not outside by more than so many standard
// deviations.
func covered(from, to, most float64) criterion[*row] {
	what := fmt.Sprintf("coverage is %.0f–%.0f%%, or not outside by more than %.1f standard deviations", 100*from, 100*to, most)
	if to == 1 {
		what = fmt.Sprintf("coverage is %.0f%%, or not less by more than %.1f standard deviations", 100*from, most)
	}
	return criterion[*row]{what, func(r *row) error {
		if outside(r.coverage(), from, to, r.Evaluations) > most {
			return fmt.Errorf("%.1f%%", 100*r.coverage())
		}
		return nil
	}}
}

// asPredicted: the variance is the predicted one, except by chance.
func asPredicted(bound float64) criterion[*row] {
	return criterion[*row]{fmt.Sprintf("variance is as predicted, within %.2f standard errors", bound), func(r *row) error {
		if z := r.varianceScore(); math.Abs(z) > bound {
			return fmt.Errorf("%.3f, want %v: %.1f standard errors", r.ratio, r.predicted, z)
		}
		return nil
	}}
}

// killedAndResumed: a share of the evaluations took more than one process.
func killedAndResumed(least float64) criterion[*row] {
	return criterion[*row]{fmt.Sprintf("%.0f%% of the evaluations at least were killed under way and resumed", 100*least), func(r *row) error {
		if float64(r.resumed) < least*r.n() {
			return fmt.Errorf("only %d of %d took a second process", r.resumed, r.Evaluations)
		}
		return nil
	}}
}

// lost is an error unless lost rollouts were asked again and none was continued, or the
// other way round.
func (r *row) lost(again bool) error {
	if min(r.continued, r.again) > 0 || again && r.again < 1 || !again && r.continued < 1 {
		return fmt.Errorf("%.2f rollouts of an evaluation were continued and %.2f asked again", r.continued, r.again)
	}
	return nil
}

// targetSlack is by which share a standard error may be off the one that was asked for.
const targetSlack = 0.15

// onTarget: what stops at a standard error reaches it, by the errors that it states, by
// those that it has, and by the rollouts that it takes.
func onTarget(bound float64) criterion[*row] {
	what := fmt.Sprintf("what stops at a standard error has it within %.0f%%, with as many rollouts as forecast", 100*targetSlack)
	return criterion[*row]{what, func(r *row) error {
		if r.target == 0 {
			return nil
		}
		square, se := r.meanSquare()
		seen, noise := math.Sqrt(square), bound*se/(2*math.Sqrt(square))
		switch {
		case math.Abs(r.stated/r.target-1) > targetSlack:
			return fmt.Errorf("it states %.4f", r.stated)
		case math.Abs(seen-r.target)-noise > targetSlack*r.target:
			return fmt.Errorf("it has %.4f", seen)
		case math.Abs(r.spent-r.predicted.Spent) > bound*r.spentSE*math.Sqrt(1+r.n()/forecastDraws)+1e-6:
			return fmt.Errorf("%.2f rollouts per task, forecast are %.2f", r.spent, r.predicted.Spent)
		}
		return nil
	}}
}

// leastDifference is by how much the halves by time must differ, or the drill could not
// see a bias for what completes first.
const leastDifference = 0.02

// soonerIsRight: answers that complete sooner are right more often.
func soonerIsRight() criterion[*row] {
	return criterion[*row]{fmt.Sprintf("what completes sooner is right more often, by %.2f at least", leastDifference), func(r *row) error {
		if r.fast < r.slow+leastDifference {
			return fmt.Errorf("%.3f and %.3f", r.fast, r.slow)
		}
		return nil
	}}
}
