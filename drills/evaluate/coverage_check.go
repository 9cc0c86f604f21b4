package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"speceval/drills/evaluated"
	"speceval/drills/timed"
)

// What coverage must be: the mean over profiles within half a point of 95%, and no
// profile below 90%. Standard errors may be off by a twentieth on average.
const (
	coverageSlack    = 0.005
	leastCoverage    = 0.90
	calibrationSlack = 0.05
)

// falseAlarms is the probability with which unbiased estimates fail for bias.
const falseAlarms = 0.01

// checkCoverage holds the summaries to what they must be. Monte Carlo errors
// count three times.
func checkCoverage(rows []summary, stdout io.Writer) error {
	var mean, least, bias, calibration []error
	bound := bonferroni(len(rows)*rows[0].profiles, falseAlarms)
	for _, r := range rows {
		where := fmt.Sprintf("%s at %d", r.policy, r.budget)
		if off := math.Abs(r.coverage - nominal); off > coverageSlack+3*r.coverageSE {
			mean = append(mean, fmt.Errorf("%s: %.2f%% ± %.2f", where, 100*r.coverage, 100*r.coverageSE))
		}
		if r.judged < leastCoverage-3*evaluated.ShareError(leastCoverage, r.evaluations) {
			least = append(least, fmt.Errorf("%s: %.1f%%", where, 100*r.judged))
		}
		if r.bias > bound {
			bias = append(bias, fmt.Errorf("%s: %.1f standard errors", where, r.bias))
		}
		if math.Abs(r.calibration-1) > calibrationSlack {
			calibration = append(calibration, fmt.Errorf("%s: %.3f", where, r.calibration))
		}
	}
	return timed.Print(stdout, []timed.Check{
		{What: fmt.Sprintf("mean coverage is within %.1f points of 95%%", 100*coverageSlack), Fault: errors.Join(mean...)},
		{What: fmt.Sprintf("no profile's coverage is below %.0f%% (Uniform's: with %d effective tasks or more)", 100*leastCoverage, fewEffective), Fault: errors.Join(least...)},
		{What: fmt.Sprintf("no estimate is biased by more than %.2f standard errors, which unbiased ones exceed in 1 of 100 drills", bound), Fault: errors.Join(bias...)},
		{What: fmt.Sprintf("standard errors are right within %.0f%% on average", 100*calibrationSlack), Fault: errors.Join(calibration...)},
	})
}
