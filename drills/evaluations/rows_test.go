//go:build drill

package evaluations_test

import (
	"fmt"
	"math"
	"strings"

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

	// Means over evaluations: seconds, and rollouts.
	seconds, extra, continued, again float64
	tooHigh, tooLow                  float64 // bounds of what asking again did to the estimate

	// Of evaluations that the drill makes on a fleet.
	kills      int // that met a running process
	fast, slow float64
	startups   []float64 // seconds until the first request, of first starts
	target     float64   // standard error to reach; 0: none
}

// newRow sums evaluations of a profile up. The profile's own error, if it has one, is a
// part of the bias and is subtracted from the variance.
func newRow(what string, budget int, p profile.Profile, results []*evaluation.Result, truthVar float64) *row {
	r := &row{what: what, budget: budget, profile: p, results: results, truthVar: truthVar}
	n := float64(len(results))
	var spent []float64
	for _, of := range results {
		r.add(of.Mean(), p.Mean())
		spent = append(spent, float64(of.Rollouts)/float64(p.N()))
		r.seconds += of.Seconds / n
		r.extra += float64(of.Extra) / n
		r.continued += float64(of.Losses.Continued) / n
		r.again += float64(of.Losses.AskedAgain) / n
		r.tooHigh += of.Losses.TooHigh / n
		r.tooLow += of.Losses.TooLow / n
		r.resumed += one(of.Sessions > 1)
	}
	r.spent, r.spentSE = meanOf(spent)
	r.stated = math.Sqrt(r.stats.stated / n)
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

// varianceScore is by how many standard errors the variance is above the prediction,
// which has an error of its own. Estimates are means over many tasks and nearly normal,
// so that n times the found over the wanted is χ² with n degrees of freedom.
func (r *row) varianceScore() float64 {
	want := r.predicted
	return (r.ratio - want.Ratio) / math.Hypot(want.Ratio*math.Sqrt(2/r.n()), want.SE)
}

// table prints rows as Markdown. The halves are of the pilot by the time to the answer: an
// estimate that prefers what completes first is too optimistic. Startups are of first
// starts, one at a time.
func table(rows []*row) {
	var cells [][]any
	for _, r := range rows {
		_, first := medianAndMost(r.startups)
		predicted := "–"
		if r.predicted.Ratio > 0 {
			predicted = fmt.Sprintf("%v (%+.1f s.e.)", r.predicted, r.varianceScore())
		}
		cells = append(cells, []any{
			r.what, r.profile.N(), r.rollouts(), r.Evaluations, r.kills,
			fmt.Sprintf("%.1f, %.1f, %.1f", r.continued, r.again, r.extra),
			fmt.Sprintf("%+.5f ± %.5f (%+.1f s.e.)", r.bias(), r.biasError(), r.biasScore()),
			fmt.Sprintf("%.4f, %.4f", r.tooHigh, r.tooLow),
			fmt.Sprintf("%.1f%% ± %.1f", 100*r.coverage(), 100*shareError(nominal, r.Evaluations)),
			fmt.Sprintf("%.3f", r.calibration()), fmt.Sprintf("%.4f", r.meanLength()),
			fmt.Sprintf("%.3f ± %.3f", r.ratio, r.ratioSE), predicted,
			fmt.Sprintf("%.3f, %.3f", r.fast, r.slow), fmt.Sprintf("%.2f", r.seconds), fmt.Sprintf("%.2f", first),
		})
	}
	drill.Table(strings.Split("evaluations|N:|b:|n:|kills:|lost and continued, asked again, surplus|bias|"+
		"stated: too high, too low by at most|coverage|√(stated/seen):|interval:|variance/Uniform's|as predicted|"+
		"passed of the faster, slower half|s:|first request after, s: most:", "|"), cells)
}

// each is a subtest with a statement that must hold of every row of a table.
func each[R any](l *drill.Lab, what string, rows []R, check func(l *drill.Lab, r R)) {
	l.Sub(what, func(l *drill.Lab) {
		for _, r := range rows {
			check(l, r)
		}
	})
}

// unbiased: the bias is no larger than by chance.
func unbiased(l *drill.Lab, rows []*row, bound float64) {
	each(l, fmt.Sprintf("no bias of more than %.2f standard errors", bound), rows, func(l *drill.Lab, r *row) {
		if z := r.biasScore(); math.Abs(z) > bound {
			l.Errorf("%s: %.1f standard errors", r.name(), z)
		}
	})
}

// mostOutside is how far the coverage of a row may be outside of 93–97%: one of 95% is
// further out with a probability below one in a thousand, from 150 evaluations on.
const mostOutside = 2

// covered: the coverage is in a range, or not outside by more than so many standard
// deviations of a share at the nearer end. A range up to 1 has no upper end.
func covered(l *drill.Lab, rows []*row, from, to, most float64) {
	each(l, fmt.Sprintf("coverage is %.0f–%.0f%%, or not outside by more than %.1f standard deviations", 100*from, 100*to, most),
		rows, func(l *drill.Lab, r *row) {
			share, n := r.coverage(), r.Evaluations
			if share < from-most*shareError(from, n) || share > to+most*shareError(to, n) {
				l.Errorf("%s: %.1f%%", r.name(), 100*share)
			}
		})
}

// asPredicted: the variance is the predicted one, except by chance.
func asPredicted(l *drill.Lab, rows []*row, bound float64) {
	each(l, fmt.Sprintf("variance is as predicted, within %.2f standard errors", bound), rows, func(l *drill.Lab, r *row) {
		if z := r.varianceScore(); math.Abs(z) > bound {
			l.Errorf("%s: %.3f, want %v: %.1f standard errors", r.name(), r.ratio, r.predicted, z)
		}
	})
}

// killedAndResumed: a share of the evaluations took more than one process.
func killedAndResumed(l *drill.Lab, rows []*row, least float64) {
	each(l, fmt.Sprintf("%.0f%% of the evaluations at least were killed under way and resumed", 100*least),
		rows, func(l *drill.Lab, r *row) {
			if float64(r.resumed) < least*r.n() {
				l.Errorf("%s: only %d of %d took a second process", r.name(), r.resumed, r.Evaluations)
			}
		})
}

// lost fails unless lost rollouts were asked again and none was continued, or the other
// way round.
func (r *row) lost(l *drill.Lab, again bool) {
	if min(r.continued, r.again) > 0 || again && r.again < 1 || !again && r.continued < 1 {
		l.Errorf("%s: %.2f rollouts of an evaluation were continued and %.2f asked again", r.name(), r.continued, r.again)
	}
}

// targetSlack is by which share a standard error may be off the one that was asked for.
const targetSlack = 0.15

// onTarget: what stops at a standard error reaches it, by the errors that it states, by
// those that it has, and by the rollouts that it takes.
func onTarget(l *drill.Lab, rows []*row, bound float64) {
	each(l, fmt.Sprintf("what stops at a standard error has it within %.0f%%, with as many rollouts as forecast", 100*targetSlack),
		rows, func(l *drill.Lab, r *row) {
			if r.target == 0 {
				return
			}
			square, se := r.meanSquare()
			seen, noise := math.Sqrt(square), bound*se/(2*math.Sqrt(square))
			if math.Abs(r.stated/r.target-1) > targetSlack {
				l.Errorf("%s: it states %.4f", r.name(), r.stated)
			}
			if math.Abs(seen-r.target)-noise > targetSlack*r.target {
				l.Errorf("%s: it has %.4f", r.name(), seen)
			}
			if math.Abs(r.spent-r.predicted.Spent) > bound*r.spentSE*math.Sqrt(1+r.n()/forecastDraws)+1e-6 {
				l.Errorf("%s: %.2f rollouts per task, forecast are %.2f", r.name(), r.spent, r.predicted.Spent)
			}
		})
}

// leastDifference is by how much the halves by time must differ, or the drill could not
// see a bias for what completes first.
const leastDifference = 0.02

// soonerIsRight: answers that complete sooner are right more often.
func soonerIsRight(l *drill.Lab, rows []*row) {
	each(l, fmt.Sprintf("what completes sooner is right more often, by %.2f at least", leastDifference),
		rows, func(l *drill.Lab, r *row) {
			if r.fast < r.slow+leastDifference {
				l.Errorf("%s: %.3f and %.3f", r.name(), r.fast, r.slow)
			}
		})
}
