package main

import (
	"errors"
	"fmt"
	"math"

	"speceval/drills/evaluated"
	"speceval/drills/timed"
)

// outside is how far a share is below or above a range, in standard deviations of
// a share at the nearer end.
func outside(share, from, to float64, n int) float64 {
	return max((from-share)/evaluated.ShareError(from, n), (share-to)/evaluated.ShareError(to, n), 0)
}

// mostOutside is how far the coverage of a series may be outside of 93–97%: one of
// 95% is further out with a probability below one in a thousand, from 150
// evaluations on.
const mostOutside = 2

// check holds rows to what they must be. Those by the same seeds come out the same
// every time: what fails for bad luck fails always, with a probability of 1% for the
// bias and for the variance each.
func (l *lab) check(rows []row, synchronous, async *series, k kills) error {
	bound := bonferroni(len(rows), falseAlarms)
	var bias, coverage, ratio, order []error
	for _, r := range rows {
		where := fmt.Sprintf("%s by %s at %d", r.profile.Benchmark, r.policy, r.budget)
		if z := math.Abs(r.tally.BiasScore()); z > bound {
			bias = append(bias, fmt.Errorf("%s: %.1f standard errors", where, z))
		}
		if out := outside(r.coverage, lowest, highest, r.tally.Evaluations); out > mostOutside {
			coverage = append(coverage, fmt.Errorf("%s: %.1f%%", where, 100*r.coverage))
		}
		if z := math.Abs(evaluated.VarianceScore(r.ratio, r.predicted, r.predictedSE, r.tally.Evaluations)); z > bound {
			ratio = append(ratio, fmt.Errorf("%s: %.3f, want %.3f: %.1f standard errors", where, r.ratio, r.predicted, z))
		}
		if r.fast < r.slow+leastDifference {
			order = append(order, fmt.Errorf("%s: %.3f and %.3f", where, r.fast, r.slow))
		}
	}
	return timed.Print(l.stdout, []timed.Check{
		{What: "every evaluation selected N·b rollouts, allocated by its pilot, and its files recount to its result"}, // or it would have ended the drill
		{What: fmt.Sprintf("what completes sooner is right more often, by %.2f at least", leastDifference), Fault: errors.Join(order...)},
		{What: fmt.Sprintf("no bias of more than %.2f standard errors", bound), Fault: errors.Join(bias...)},
		{What: fmt.Sprintf("coverage is 93–97%%, or not outside by more than %d standard deviations", mostOutside), Fault: errors.Join(coverage...)},
		{What: fmt.Sprintf("variance is as predicted, within %.2f standard errors", bound), Fault: errors.Join(ratio...)},
		{What: fmt.Sprintf("HBN-sync has the results of HBN-async, by %d seeds", len(synchronous.results)), Fault: sameSeries(synchronous, async)},
		{What: fmt.Sprintf("%d evaluations have the results of undisturbed ones after %d kills, %d of them by several processes", k.evaluations, k.killed, k.resumed), Fault: errors.Join(k.same, k.enough())},
	})
}

// leastDifference is by how much the halves by time must differ, or
// the drill would not see what it is for.
const leastDifference = 0.02

// sameSeries says which evaluations of a series differ from those of another by
// the same seeds.
func sameSeries(s, other *series) error {
	for i, r := range s.results {
		if err := evaluated.Same(r, other.results[i]); err != nil {
			return fmt.Errorf("seed %d: %w", i+1, err)
		}
	}
	return nil
}

// enough is an error if kills have not met the middle of evaluations.
func (k kills) enough() error {
	if k.resumed < k.evaluations/2 {
		return fmt.Errorf("only %d of %d were interrupted after their first request", k.resumed, k.evaluations)
	}
	return nil
}
