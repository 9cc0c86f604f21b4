package main

import (
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/gonum/stat/distuv"

	"speceval/drills/evaluated"
	"speceval/drills/timed"
)

// What coverage must be: the mean over profiles within half a point of 95%, of policies in
// more than two stages up to one and a half above, two with donors; and no profile below
// 94% but by chance, Uniform's 90%. Standard errors may be off by a twentieth on average, and too large by a
// tenth with donors.
const (
	coverageSlack    = 0.005
	stagedAbove      = 0.015
	knownAbove       = 0.02
	leastCoverage    = 0.94
	leastUniform     = 0.90
	calibrationSlack = 0.05
	knownCalibration = 0.10
)

// What is said of Uniform's equivalent must be covered as often, on average over
// profiles, and a gain may be claimed of so many evaluations that lost.
const (
	leastEquivalent = 0.93
	mostWrong       = 0.05
)

// falseAlarms is the probability with which unbiased estimates fail for bias.
const falseAlarms = 0.01

// tooMany reports whether so many of n are more than a share of them, but for the chance
// that a normal number is above three standard deviations.
func tooMany(k, n int, share float64) bool {
	return k > 0 && distuv.Binomial{N: float64(n), P: share}.Survival(float64(k-1)) < distuv.UnitNormal.Survival(3)
}

// checkCoverage holds the summaries to what they must be. Monte Carlo errors
// count three times.
func checkCoverage(rows []summary, stdout io.Writer) error {
	var mean, least, bias, calibration, equivalent, wrong []error
	n := 0
	for _, r := range rows {
		n += r.profiles
	}
	bound := bonferroni(n, falseAlarms)
	for _, r := range rows {
		where := fmt.Sprintf("%s at %d", r.policy, r.budget)
		above, large, floor, allowance := coverageSlack, calibrationSlack, leastCoverage, bound
		switch r.policy {
		case inStages:
			above = stagedAbove
		case wellKnown, misinformed, misled:
			above, large = knownAbove, knownCalibration
		case uniform:
			floor, allowance = leastUniform, 3
		}
		if r.coverage < nominal-coverageSlack-3*r.coverageSE || r.coverage > nominal+above+3*r.coverageSE {
			mean = append(mean, fmt.Errorf("%s: %.2f%% ± %.2f", where, 100*r.coverage, 100*r.coverageSE))
		}
		if r.judged < floor-allowance*evaluated.ShareError(floor, r.evaluations) {
			least = append(least, fmt.Errorf("%s: %.1f%%", where, 100*r.judged))
		}
		if r.bias > bonferroniOfMeans(n, r.evaluations, falseAlarms) {
			bias = append(bias, fmt.Errorf("%s: %.1f standard errors", where, r.bias))
		}
		if r.calibration < 1-calibrationSlack || r.calibration > 1+large {
			calibration = append(calibration, fmt.Errorf("%s: %.3f", where, r.calibration))
		}
		e := r.equivalents
		if e.number > 0 && e.coverage() < leastEquivalent-3*evaluated.ShareError(leastEquivalent, e.number) {
			equivalent = append(equivalent, fmt.Errorf("%s: %.1f%%", where, 100*e.coverage()))
		}
		if tooMany(e.wrong, e.losses, mostWrong) {
			wrong = append(wrong, fmt.Errorf("%s: %d of %d", where, e.wrong, e.losses))
		}
	}
	return timed.Print(stdout, []timed.Check{
		{What: fmt.Sprintf("mean coverage is within %.1f points of 95%%, in stages up to %.1f above, %.0f with donors", 100*coverageSlack, 100*stagedAbove, 100*knownAbove), Fault: errors.Join(mean...)},
		{What: fmt.Sprintf("no profile's coverage is below %.0f%% but by chance (Uniform's: %.0f%%, with %d effective tasks or more)", 100*leastCoverage, 100*leastUniform, fewEffective), Fault: errors.Join(least...)},
		{What: "no estimate is biased by more than the most biased of unbiased ones in 1 of 100 drills", Fault: errors.Join(bias...)},
		{What: fmt.Sprintf("standard errors are right within %.0f%% on average, with donors not too large by more than %.0f%%", 100*calibrationSlack, 100*knownCalibration), Fault: errors.Join(calibration...)},
		{What: fmt.Sprintf("what Uniform would have needed is covered %.0f%% of the time", 100*leastEquivalent), Fault: errors.Join(equivalent...)},
		{What: fmt.Sprintf("no gain is claimed of more than %.0f%% of the evaluations that lost", 100*mostWrong), Fault: errors.Join(wrong...)},
	})
}
