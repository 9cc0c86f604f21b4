package report

import (
	"fmt"
	"math"

	"speceval/internal/variance"
)

// Words on causes of errors.
const (
	replayCause   = "Monte Carlo of the replay"
	designCause   = "estimation of the design"
	profilesCause = "rollouts behind the profiles"
)

// errorsOf are the errors of Σ g_j·ratio_j by cause, for ratios of one policy at
// one budget.
func (e *evidence) errorsOf(ratios []variance.Ratio, weights []float64) ([]ErrorOf, error) {
	res, err := e.replay()
	if err != nil {
		return nil, err
	}
	redrawn, err := e.redrawn()
	if err != nil {
		return nil, err
	}
	c, err := newCauses(newSchedules(res.Designs), redrawn, ratios, weights)
	if err != nil {
		return nil, err
	}
	about := "exact: nothing is drawn"
	if draws := ratios[0].Draws; draws > 0 {
		about = fmt.Sprintf("%d draws on a profile, independent between profiles", draws)
	}
	errors := []ErrorOf{
		{replayCause, &c.replay, about},
		{designCause, &c.design, "of the stage weight, which profiles of one task count share"},
		{Cause: profilesCause, About: fmt.Sprintf("not known: not all are in %s (`speceval run replay`)", variance.ErrorsFile)},
	}
	if ratios[0].W == nil {
		errors[1].About = "none: the policy has no estimated design"
	}
	if p := c.profiles; p != nil {
		errors[2].SE = &p.se
		errors[2].About = fmt.Sprintf("each profile redrawn %d times; they move the number by %+.2g ± %.2g", p.resamples, p.shift, p.shiftSE)
	}
	return errors, nil
}

// ratioColumns are the numbers of a profile that a mean is made of.
var ratioColumns = []string{"variance_ratio", "ratio_se", "n_tasks"}

// meanParts are the profiles of a mean ratio.
func meanParts(ratios []variance.Ratio) *Parts {
	var parts []Part
	for _, r := range ratios {
		parts = append(parts, shared(name(r), r.VarianceRatio/float64(len(ratios)), r.VarianceRatio, r.RatioSE, float64(r.NTasks)))
	}
	return added("profiles", ratioColumns, parts)
}

// replayParts are the profiles' shares in the Monte Carlo error of a mean.
func replayParts(ratios []variance.Ratio) []Part {
	var parts []Part
	for _, r := range ratios {
		s := r.RatioSE / float64(len(ratios))
		parts = append(parts, shared("replay of "+name(r), s*s, s))
	}
	return parts
}

// designParts are the designs' shares in it, by task count.
func designParts(designs schedules, ratios []variance.Ratio) ([]Part, error) {
	slope := map[int32]float64{}
	for _, r := range ratios {
		noise, err := designNoise(designs, r)
		if err != nil {
			return nil, err
		}
		slope[r.NTasks] += noise / float64(len(ratios))
	}
	var parts []Part
	for _, n := range sortedKeys(slope) {
		parts = append(parts, shared(fmt.Sprintf("design of N=%d", n), slope[n]*slope[n], math.Abs(slope[n])))
	}
	return parts, nil
}

// errorColumns are the numbers of a part of an error.
var errorColumns = []string{"s.e. of the mean from it"}

// meanErrorParts are the shares in the Monte Carlo error of a mean.
func meanErrorParts(designs schedules, ratios []variance.Ratio) (*Parts, error) {
	more, err := designParts(designs, ratios)
	if err != nil {
		return nil, err
	}
	return squared("replays and designs", errorColumns, append(replayParts(ratios), more...)), nil
}

// replayed is the ratios of a policy at the row's budget.
func (e *evidence) replayed(policy string, budget int32) ([]variance.Ratio, error) {
	res, err := e.replay()
	if err != nil {
		return nil, err
	}
	ratios := pick(res.Ratios, policy, budget)
	if len(ratios) == 0 {
		return nil, fmt.Errorf("%s has no ratio of %s at budget %d any more", variance.RatiosFile, policy, budget)
	}
	return ratios, nil
}

// mean takes a mean over profiles of a policy's ratios apart, or its error.
func (e *evidence) mean(policy string, budget int32, isError bool) (d dissected, err error) {
	ratios, err := e.replayed(policy, budget)
	if err != nil {
		return d, err
	}
	if isError {
		d.parts, err = meanErrorParts(newSchedules(e.results.value.Designs), ratios)
		return d, err
	}
	d.parts = meanParts(ratios)
	d.errors, err = e.errorsOf(ratios, equalWeights(len(ratios)))
	return d, err
}

// takeVariance takes a cell of Table 1 apart.
func takeVariance(e *evidence, p place) (dissected, error) {
	if p.column == "ibn_alpha" {
		return takeStrength(e, p)
	}
	policy, suffix := p.noise()
	return e.mean(policy, p.budget(), suffix != "")
}

// takeStrength lists the prior strengths that IBN could have.
func takeStrength(e *evidence, p place) (d dissected, err error) {
	candidates, err := e.strengths()
	if err != nil {
		return d, err
	}
	var parts []Part
	seen := map[float64]bool{}
	for _, r := range candidates {
		alpha := alphaOf(r.Alpha)
		if mean, ok := candidateMean(candidates, p.budget(), alpha); ok && r.Budget == p.budget() && !seen[alpha] {
			seen[alpha] = true
			parts = append(parts, option(fmt.Sprintf("alpha=%g", alpha), mean.Value, mean.SE, alpha))
		}
	}
	if len(parts) == 0 {
		return d, errNoParts
	}
	d.parts = ranked("prior strengths", "the one with the least mean is selected", []string{"mean variance_ratio", "replay s.e.", "alpha"}, parts, false)
	d.parts.makes(d.parts.Rows[0].Numbers[2])
	return d, nil
}
