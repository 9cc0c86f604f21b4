package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"speceval/drills/evaluated"
	"speceval/drills/timed"
)

// policyRow is what came of an arm of the part policies, beside its forecast.
type policyRow struct {
	*arm
	tally          *tally
	spent, spentSE float64 // rollouts per task, mean
	ratio, ratioSE float64 // of the mean squared error to Uniform's variance with as many
	predicted      evaluated.Prediction
	stated         float64 // standard error, root of the mean square
	resumptions    []float64
}

// policyRow sums an arm up and forecasts it by the design and the donors that it had.
func (l *lab) policyRow(ctx context.Context, a *arm) (policyRow, error) {
	r := policyRow{arm: a, tally: a.tally()}
	f := evaluated.Forecast{Profile: a.profile, Setup: a.setup, Reference: l.prior, Draws: forecastDraws, Seed: l.seed}
	if a.base > 0 {
		f.Extended = a.extended.setup
	}
	var err error
	if r.predicted, err = f.Predict(ctx); err != nil {
		return r, err
	}
	n, squares := float64(len(a.results)), 0.0
	for _, result := range a.results {
		spent := float64(result.Rollouts) / float64(a.profile.N())
		r.spent, squares = r.spent+spent/n, squares+spent*spent/n
		r.stated += result.StandardError * result.StandardError / n
		if result.Sessions > 1 {
			r.resumptions = append(r.resumptions, result.Startup)
		}
	}
	r.stated, r.spentSE = math.Sqrt(r.stated), math.Sqrt(max(0, squares-r.spent*r.spent)/(n-1))
	unit := a.unit(r.spent)
	square, se := r.tally.MeanSquare()
	r.ratio, r.ratioSE = square/unit, se/unit
	return r, nil
}

// unit is the variance of Uniform with so many rollouts per task.
func (a *arm) unit(spent float64) float64 {
	n := float64(a.profile.N())
	return a.profile.VarianceSum() / (n * n * spent)
}

// varianceScore is by how many standard errors the variance is above the forecast.
func (r *policyRow) varianceScore() float64 {
	return evaluated.VarianceScore(r.ratio, r.predicted.Ratio, r.predicted.SE, r.tally.Evaluations)
}

// policyTable prints rows as Markdown, and the times until the first request.
func policyTable(w io.Writer, rows []policyRow) error {
	var b strings.Builder
	fmt.Fprint(&b, "\n| evaluations by | b | n | killed | lost answers continued | bias | coverage | √(stated/seen) | variance/Uniform's | by the forecast | s |\n|---|---:|---:|---:|---:|---|---:|---:|---|---|---:|\n")
	for _, r := range rows {
		t := r.tally
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %.1f | %+.5f ± %.5f (%+.1f s.e.) | %.1f%% ± %.1f | %.3f | %.3f ± %.3f | %v (%+.1f s.e.) | %.2f |\n",
			r.what, r.rollouts(), t.Evaluations, r.hits, r.continued, t.Bias(), t.BiasError(), t.BiasScore(),
			100*t.Coverage(), 100*evaluated.ShareError(nominal, t.Evaluations), t.Calibration(), r.ratio, r.ratioSE, r.predicted, r.varianceScore(), r.seconds)
	}
	fmt.Fprintf(&b, "\nThe variance is the mean squared error, relative to that of Uniform with as many rollouts; the forecast draws evaluations by the same design and donors. Good donors are an earlier evaluation of the model with %d rollouts of each task, and its siblings; the adversarial one makes the most uncertain tasks seem the most certain.\n\n", earlierRollouts)
	fmt.Fprint(&b, "| evaluations by | b | first request after, s: median | most | resumed: median | most |\n|---|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		median, most := middle(r.startups)
		again, longest := middle(r.resumptions)
		fmt.Fprintf(&b, "| %s | %s | %.2f | %.2f | %.2f | %.2f |\n", r.what, r.rollouts(), median, most, again, longest)
	}
	fmt.Fprintf(&b, "\nFirst starts are of %d evaluations, one at a time; resumptions stand beside others, several at a time.\n\n", len(rows[0].startups))
	_, err := io.WriteString(w, b.String())
	return err
}

// rollouts are those per task, a mean where what is found decides.
func (r *policyRow) rollouts() string {
	if r.target > 0 {
		return fmt.Sprintf("%.2f", r.spent)
	}
	return fmt.Sprint(r.budget)
}

// middle is the median of some numbers, and the greatest; NaN of none.
func middle(xs []float64) (median, most float64) {
	if len(xs) == 0 {
		return math.NaN(), math.NaN()
	}
	sorted := slices.Sorted(slices.Values(xs))
	return quantile(sorted, 0.5), sorted[len(sorted)-1]
}

// What the arms must have.
const (
	leastCovered = 0.94 // of the intervals hold the truth
	leastKilled  = 0.75 // of the evaluations are met by their kill
	targetSlack  = 0.15 // by which a standard error may be off the one that was asked for
)

// checkPolicies holds the rows to what they must be.
func checkPolicies(w io.Writer, rows []policyRow) error {
	bound := bonferroni(len(rows), falseAlarms)
	var kills, continued, bias, coverage, ratio, target []error
	for _, r := range rows {
		where, n := fmt.Sprintf("%s at %s", r.what, r.rollouts()), r.tally.Evaluations
		if got := r.resumed(); float64(got) < leastKilled*float64(n) {
			kills = append(kills, fmt.Errorf("%s: only %d of %d took a second process", where, got, n))
		}
		if err := r.counts(false); err != nil {
			continued = append(continued, err)
		}
		if z := r.tally.BiasScore(); math.Abs(z) > bound {
			bias = append(bias, fmt.Errorf("%s: %.1f standard errors", where, z))
		}
		if out := (leastCovered - r.tally.Coverage()) / evaluated.ShareError(leastCovered, n); out > mostOutside {
			coverage = append(coverage, fmt.Errorf("%s: %.1f%%", where, 100*r.tally.Coverage()))
		}
		if z := r.varianceScore(); math.Abs(z) > bound {
			ratio = append(ratio, fmt.Errorf("%s: %.3f, want %v: %.1f standard errors", where, r.ratio, r.predicted, z))
		}
		target = append(target, r.reaches(bound))
	}
	return timed.Print(w, []timed.Check{
		{What: "files recount to results, and every stage is what the rewards of those before it decide on"}, // or it would have ended the drill
		{What: fmt.Sprintf("%.0f%% of the evaluations at least were killed under way and resumed", 100*leastKilled), Fault: errors.Join(kills...)},
		{What: "lost answers were continued, and none asked again", Fault: errors.Join(continued...)},
		{What: fmt.Sprintf("no bias of more than %.2f standard errors", bound), Fault: errors.Join(bias...)},
		{What: fmt.Sprintf("coverage is %.0f%%, or not less by more than %d standard deviations", 100*leastCovered, mostOutside), Fault: errors.Join(coverage...)},
		{What: fmt.Sprintf("variance is as forecast, within %.2f standard errors", bound), Fault: errors.Join(ratio...)},
		{What: fmt.Sprintf("what stops at a standard error has it within %.0f%%, with as many rollouts as forecast", 100*targetSlack), Fault: errors.Join(target...)},
	})
}

// reaches is an error if an arm with a target is off it: by the errors that it states, by
// those that it has, or by the rollouts that it takes.
func (r *policyRow) reaches(bound float64) error {
	if r.target == 0 {
		return nil
	}
	square, se := r.tally.MeanSquare()
	seen, noise := math.Sqrt(square), bound*se/(2*math.Sqrt(square))
	if off := math.Abs(r.stated/r.target - 1); off > targetSlack {
		return fmt.Errorf("%s: it states %.4f", r.what, r.stated)
	}
	if off := math.Abs(seen-r.target) - noise; off > targetSlack*r.target {
		return fmt.Errorf("%s: it has %.4f", r.what, seen)
	}
	if off := math.Abs(r.spent - r.predicted.Spent); off > bound*r.spentSE*math.Sqrt(1+float64(r.tally.Evaluations)/forecastDraws)+1e-6 {
		return fmt.Errorf("%s: %.2f rollouts per task, forecast are %.2f", r.what, r.spent, r.predicted.Spent)
	}
	return nil
}
