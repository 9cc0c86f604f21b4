//go:build drill

package evaluations_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"speceval/drills/drill"
	"speceval/internal/store/profile"
	"speceval/method/estimate"
)

// falseAlarms is the probability with which unbiased estimates fail for bias.
const falseAlarms = 0.01

// stats sums up evaluations of the same tasks by the same policy and budget, whose mean
// is known.
type stats struct {
	n, missed     int       // evaluations; intervals that lie wholly below the truth, or above
	away, squares []float64 // estimates − truth, and their squares
	stated        float64   // Σ of squared standard errors
	length        float64   // Σ of the intervals' lengths
}

// add adds an evaluation of tasks whose mean is truth.
func (s *stats) add(m estimate.Mean, truth float64) {
	away := m.Value - truth
	s.n, s.missed = s.n+1, s.missed+one(m.High < truth || m.Low > truth)
	s.away, s.squares = append(s.away, away), append(s.squares, away*away)
	s.stated, s.length = s.stated+m.StandardError*m.StandardError, s.length+m.High-m.Low
}

// coverage is the share of intervals that hold the truth.
func (s *stats) coverage() float64 { return 1 - float64(s.missed)/float64(s.n) }

// calibration is the root of the stated variance over the mean squared error, which has
// the bias in it: 1 where standard errors are right.
func (s *stats) calibration() float64 {
	square, _ := meanOf(s.squares)
	return math.Sqrt(s.stated / float64(s.n) / square)
}

// meanLength is the mean length of the intervals.
func (s *stats) meanLength() float64 { return s.length / float64(s.n) }

// row is a line of a table: the evaluations of an arm, summed up.
type row struct {
	*arm
	stats
	truthVar  float64 // variance of the profile's own mean; 0 where the truth is known
	predicted prediction

	spent, spentSE float64 // rollouts per task, mean
	ratio, ratioSE float64 // of the mean squared error to Uniform's variance with as many rollouts
	resumed        int     // evaluations that took more than one process

	continued, again float64 // lost rollouts, means over evaluations
	tooHigh, tooLow  float64 // bounds of what asking again did to the estimate
	times            string  // relative to Uniform's; of live rows
}

// newRow sums the evaluations of an arm up. The profile's own error, if it has one, is a
// part of the bias and is subtracted from the variance.
func newRow(a *arm, predicted prediction, truthVar float64) *row {
	r := &row{arm: a, predicted: predicted, truthVar: truthVar}
	n := float64(len(a.results))
	var spent []float64
	for _, of := range a.results {
		r.add(of.Mean(), a.profile.Mean())
		spent = append(spent, float64(of.Rollouts)/float64(a.profile.N()))
		r.continued += float64(of.Losses.Continued) / n
		r.again += float64(of.Losses.AskedAgain) / n
		r.tooHigh += of.Losses.TooHigh / n
		r.tooLow += of.Losses.TooLow / n
		r.resumed += one(of.Sessions > 1)
	}
	r.spent, r.spentSE = meanOf(spent)
	unit := uniformVariance(a.profile, r.spent)
	square, se := meanOf(r.squares)
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
	bias, se := meanOf(r.away)
	return bias / math.Hypot(se, math.Sqrt(r.truthVar))
}

// varianceScore is by how many standard errors the variance is above the prediction,
// which has an error of its own. Estimates are means over many tasks and nearly normal,
// so that n times the found over the wanted is χ² with n degrees of freedom.
func (r *row) varianceScore() float64 {
	want := r.predicted
	return (r.ratio - want.Ratio) / math.Hypot(want.Ratio*math.Sqrt(2/float64(r.n)), want.SE)
}

// table prints rows as Markdown.
func table(rows []*row) {
	var cells [][]any
	for _, r := range rows {
		bias, se := meanOf(r.away)
		predicted := "–"
		if r.predicted.Ratio > 0 {
			predicted = fmt.Sprintf("%v (%+.1f s.e.)", r.predicted, r.varianceScore())
		}
		cells = append(cells, []any{
			r.what, r.rollouts(), r.n, r.hits, fmt.Sprintf("%.1f, %.1f", r.continued, r.again),
			fmt.Sprintf("%+.5f ± %.5f (%+.1f s.e.)", bias, se, r.biasScore()),
			fmt.Sprintf("%.4f, %.4f", r.tooHigh, r.tooLow),
			fmt.Sprintf("%.1f%% ± %.1f", 100*r.coverage(), 100*shareError(nominal, r.n)),
			fmt.Sprintf("%.3f", r.calibration()), fmt.Sprintf("%.3f ± %.3f", r.ratio, r.ratioSE), predicted,
			r.times, fmt.Sprintf("%.2f", r.startup),
		})
	}
	drill.Table(strings.Split("evaluations|b:|n:|kills:|lost and continued, asked again|bias|"+
		"stated: too high, too low by at most|coverage|√(stated/seen):|variance/Uniform's|as predicted|"+
		"time/Uniform's|first request after, s: most:", "|"), cells)
}

// each is a subtest with a statement that must hold of every row of a table, and how far a
// row is from it.
func each[R interface{ name() string }](l *drill.Lab, what string, rows []R, check func(r R) (holds bool, how string)) {
	l.Sub(what, func(l *drill.Lab) {
		for _, r := range rows {
			if holds, how := check(r); !holds {
				l.Errorf("%s: %s", r.name(), how)
			}
		}
	})
}

// unbiased: the bias is no larger than by chance.
func unbiased(l *drill.Lab, rows []*row, bound float64) {
	each(l, fmt.Sprintf("no bias of more than %.2f standard errors", bound), rows, func(r *row) (bool, string) {
		z := r.biasScore()
		return math.Abs(z) <= bound, fmt.Sprintf("%.1f standard errors", z)
	})
}

// Coverages: what intervals claim, and the range in which a profile's is as claimed for
// practical purposes.
const (
	nominal = 0.95
	lowest  = 0.93
	highest = 0.97
)

// mostOutside is how far the coverage of a row may be outside of 93–97%: one of 95% is
// further out with a probability below one in a thousand, from 150 evaluations on.
const mostOutside = 2

// covered: the coverage is in a range, or not outside by more than so many standard
// deviations of a share at the nearer end. A range up to 1 has no upper end.
func covered(l *drill.Lab, rows []*row, from, to, most float64) {
	each(l, fmt.Sprintf("coverage is %.0f–%.0f%%, or not outside by more than %.1f standard deviations", 100*from, 100*to, most),
		rows, func(r *row) (bool, string) {
			share := r.coverage()
			return share >= from-most*shareError(from, r.n) && share <= to+most*shareError(to, r.n), fmt.Sprintf("%.1f%%", 100*share)
		})
}

// asPredicted: the variance is the predicted one, except by chance.
func asPredicted(l *drill.Lab, rows []*row, bound float64) {
	each(l, fmt.Sprintf("variance is as predicted, within %.2f standard errors", bound), rows, func(r *row) (bool, string) {
		z := r.varianceScore()
		return math.Abs(z) <= bound, fmt.Sprintf("%.3f, want %v: %.1f standard errors", r.ratio, r.predicted, z)
	})
}

// killedAndResumed: a share of the evaluations took more than one process.
func killedAndResumed(l *drill.Lab, rows []*row, least float64) {
	each(l, fmt.Sprintf("%.0f%% of the evaluations at least were killed under way and resumed", 100*least),
		rows, func(r *row) (bool, string) {
			return float64(r.resumed) >= least*float64(r.n), fmt.Sprintf("only %d of %d took a second process", r.resumed, r.n)
		})
}

// lost: lost rollouts were asked again and none was continued, or the other way round.
func (r *row) lost(again bool) (holds bool, how string) {
	is, other := r.continued, r.again
	if again {
		is, other = other, is
	}
	return is >= 1 && other == 0, fmt.Sprintf("%.2f rollouts of an evaluation were continued and %.2f asked again", r.continued, r.again)
}

// shareError is the standard error of a share that is found in n draws.
func shareError(share float64, n int) float64 { return math.Sqrt(share * (1 - share) / float64(n)) }

// tooMany reports whether so many of n are more than a share of them, except by the chance
// that a normal number is above three standard deviations.
func tooMany(k, n int, share float64) bool {
	return k > 0 && distuv.Binomial{N: float64(n), P: share}.Survival(float64(k-1)) < distuv.UnitNormal.Survival(3)
}

// bonferroni is what the largest of n standard normal numbers, without their signs,
// exceeds with the probability of a false alarm at most.
func bonferroni(n int) float64 {
	return distuv.UnitNormal.Quantile(1 - falseAlarms/2/float64(max(1, n)))
}

// median is the median of some numbers.
func median(xs []float64) float64 {
	sorted, n := slices.Sorted(slices.Values(xs)), len(xs)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// meanOf is the mean of some numbers with its standard error.
func meanOf(xs []float64) (mean, se float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x / n
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}

// one is 1 for true and 0 for false.
func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
