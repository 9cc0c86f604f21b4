package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"speceval/drills/evaluated"
	"speceval/drills/timed"
)

const (
	nominal       = 0.95 // coverage that intervals claim
	leastEvidence = 10   // evaluations from which numbers are judged
	falseAlarms   = 0.01 // how often a drill fails by chance, about
)

// bound is the number of standard errors beyond which one of n normal numbers is in a
// share falseAlarms of drills.
func bound(n int) float64 {
	return math.Sqrt2 * math.Erfinv(1-falseAlarms/float64(max(1, n)))
}

// check compares the numbers with what they must be.
func check(w io.Writer, truth *truth, all []group) error {
	var judged []group
	var kills []error
	for _, g := range all {
		if len(g.runs) >= leastEvidence {
			judged = append(judged, g)
		}
		if g.arm.killed && 2*g.resumed() < len(g.runs) {
			kills = append(kills, fmt.Errorf("%s at %d: %d of %d evaluations were resumed", g.arm.name, g.budget, g.resumed(), len(g.runs)))
		}
	}
	most := bound(3 * len(judged)) // bias, coverage and variance of each
	var bias, coverage, ratio []error
	for _, g := range judged {
		t, want := g.tally, truth.of(g.arm, g.budget)
		where := fmt.Sprintf("%s at %d", g.arm.name, g.budget)
		if z := truth.biasScore(t); math.Abs(z) > most {
			bias = append(bias, fmt.Errorf("%s: %.1f standard errors", where, z))
		}
		if z := (nominal - t.Coverage()) / evaluated.ShareError(nominal, t.Evaluations); z > most {
			coverage = append(coverage, fmt.Errorf("%s: %.0f%%", where, 100*t.Coverage()))
		}
		r, _ := truth.ratio(t, g.budget)
		if z := evaluated.VarianceScore(r, want.Ratio, want.SE, t.Evaluations); math.Abs(z) > most {
			ratio = append(ratio, fmt.Errorf("%s: %.2f, want %.2f: %.1f standard errors", where, r, want.Ratio, z))
		}
	}
	fmt.Fprintf(w, "%d of %d rows have the %d evaluations that it takes to judge them\n", len(judged), len(all), leastEvidence)
	return timed.Print(w, []timed.Check{
		{What: fmt.Sprintf("no bias of more than %.1f standard errors", most), Fault: errors.Join(bias...)},
		{What: fmt.Sprintf("coverage is 95%%, or not less by more than %.1f standard deviations", most), Fault: errors.Join(coverage...)},
		{What: fmt.Sprintf("variances are those of the replay, within %.1f standard errors", most), Fault: errors.Join(ratio...)},
		{What: "most of the evaluations that were killed were still running, and were resumed", Fault: errors.Join(kills...)},
	})
}
