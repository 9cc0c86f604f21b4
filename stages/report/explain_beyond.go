package report

import (
	"fmt"
	"math"

	"speceval/internal/variance"
)

// takeErrors takes a cell of error_split apart.
func takeErrors(e *evidence, p place) (d dissected, err error) {
	policy := p.fields["policy"]
	ratios, err := e.replayed(policy, p.budget())
	if err != nil {
		return d, err
	}
	switch p.column {
	case "variance_ratio":
		return e.mean(policy, p.budget(), false)
	case "replay_se":
		d.parts = squared("profiles", errorColumns, replayParts(ratios))
		return d, nil
	case "design_se":
		parts, err := designParts(newSchedules(e.results.value.Designs), ratios)
		d.parts = squared("designs", errorColumns, parts)
		return d, err
	}
	redrawn, err := e.redrawn()
	if err != nil {
		return d, err
	}
	d.parts = profileParts(p.column, redrawn, ratios)
	if d.parts == nil {
		return d, errNoParts
	}
	return d, nil
}

// profileParts are the profiles' shares in what comes from them.
func profileParts(column string, redrawn profileErrors, ratios []variance.Ratio) *Parts {
	var parts []Part
	n := float64(len(ratios))
	for _, r := range ratios {
		x, ok := redrawn[entryOf(r)]
		if !ok {
			return nil
		}
		switch column {
		case "profile_se":
			s := x.ProfileSE / n
			parts = append(parts, shared(name(r), s*s, s, x.ProfileSE, float64(x.Resamples)))
		case "shift":
			parts = append(parts, shared(name(r), x.Shift/n, x.Shift, x.ShiftSE, float64(x.Resamples)))
		case "shift_se":
			s := x.ShiftSE / n
			parts = append(parts, shared(name(r), s*s, s, x.ShiftSE, float64(x.Resamples)))
		default:
			parts = append(parts, option(name(r), float64(x.Resamples)))
		}
	}
	switch column {
	case "profile_se", "shift_se":
		return squared("profiles", []string{errorColumns[0], column + " on it", "resamples"}, parts)
	case "shift":
		return added("profiles", []string{"shift", "shift_se", "resamples"}, parts)
	}
	return ranked("profiles", "the least is the number", []string{"resamples"}, parts, false)
}

// takePaired takes a cell of paired_differences apart.
func takePaired(e *evidence, p place) (d dissected, err error) {
	ratios, err := e.replayed(p.fields["policy"], p.budget())
	if err != nil {
		return d, err
	}
	stored, err := e.differences()
	if err != nil {
		return d, err
	}
	var means, paired, apart, sides []Part
	n := float64(len(ratios))
	for _, r := range ratios {
		x, ok := stored[entryOf(r)]
		h, both := profileRatio(e.results.value.Ratios, variance.HBN, name(r), r.Budget)
		if !ok || !both {
			return d, fmt.Errorf("%s has no difference on %s any more", variance.DifferencesFile, name(r))
		}
		s, free := x.DifferenceSE/n, math.Hypot(r.RatioSE, h.RatioSE)/n
		means = append(means, shared(name(r), x.Difference/n, x.Difference, x.DifferenceSE, r.VarianceRatio, h.VarianceRatio))
		paired = append(paired, shared(name(r), s*s, s, x.DifferenceSE))
		apart = append(apart, shared(name(r), free*free, free, r.RatioSE, h.RatioSE))
		sides = append(sides, option(name(r), inErrors(x), x.Difference, x.DifferenceSE))
	}
	sideColumns := []string{"difference in s.e.", "difference", "difference_se"}
	switch p.column {
	case "difference":
		d.parts = added("profiles", []string{"difference", "difference_se", p.fields["policy"], "hbn"}, means)
		se := math.Sqrt(total(paired))
		d.errors = []ErrorOf{{replayCause, &se, fmt.Sprintf("%d draws on a profile that both policies share, given both designs", stored[entryOf(ratios[0])].Draws)}}
	case "difference_se":
		d.parts = squared("profiles", []string{errorColumns[0], "difference_se on it"}, paired)
	case "independent_se":
		d.parts = squared("profiles", []string{errorColumns[0], "ratio_se", "ratio_se of hbn"}, apart)
	case "profiles_worse":
		d.parts = ranked("profiles", fmt.Sprintf("those below −%g are counted", gainZ), sideColumns, sides, false)
	case "profiles_better":
		d.parts = ranked("profiles", fmt.Sprintf("those above %g are counted", gainZ), sideColumns, sides, true)
	default:
		d.parts = ranked("profiles", "all are counted", sideColumns, sides, true).makes(n)
	}
	return d, nil
}

// inErrors is a difference in its standard errors, as large as can be where it is
// exact.
func inErrors(d variance.Difference) float64 {
	if z := d.Difference / d.DifferenceSE; finite(z) {
		return z
	}
	if d.Difference == 0 {
		return 0
	}
	return math.Copysign(math.MaxFloat64, d.Difference)
}

// takeRobustness takes a cell of the table of robustness apart.
func takeRobustness(e *evidence, p place) (d dissected, err error) {
	ratios, err := e.replayed(variance.HBN, p.budget())
	if err != nil {
		return d, err
	}
	var parts, criterion []Part
	worst := ratios[0]
	for _, r := range ratios {
		parts = append(parts, option(name(r), r.VarianceRatio, r.RatioSE))
		criterion = append(criterion, option(name(r), r.VarianceRatio+gainZ*r.RatioSE, r.VarianceRatio, r.RatioSE))
		if r.VarianceRatio > worst.VarianceRatio {
			worst = r
		}
	}
	columns := []string{"variance_ratio", "ratio_se"}
	switch p.column {
	case "profiles_gaining":
		d.parts = ranked("profiles", "those below 1 are counted", []string{"ratio + 1.96 s.e.", "variance_ratio", "ratio_se"}, criterion, true)
		d.parts.makes(float64(spreads(ratios)[0].gaining))
	case "profiles":
		d.parts = ranked("profiles", "all are counted", columns, parts, true).makes(float64(len(ratios)))
	case "worst_se":
		d.parts = ranked("profiles", "it is the error on the profile with the greatest ratio", columns, parts, true).makes(worst.RatioSE)
	case "worst_profile", "worst_ratio":
		d.parts = ranked("profiles", "the greatest ratio is the worst", columns, parts, true)
	}
	if p.column == "worst_ratio" {
		d.parts.makes(worst.VarianceRatio)
		d.errors, err = e.errorsOf([]variance.Ratio{worst}, []float64{1})
	}
	return d, err
}

// takeProfile takes a cell that is about one ratio of a profile apart, of
// profile_ratios or budget_equivalents.
func takeProfile(e *evidence, p place) (d dissected, err error) {
	policy := p.fields["policy"]
	if p.base == "budget_equivalents" {
		policy = variance.HBN
	}
	ratios, err := e.replayed(policy, p.budget())
	if err != nil {
		return d, err
	}
	profile := name(variance.Ratio{Benchmark: p.fields["benchmark"], Model: p.fields["model"]})
	r, ok := profileRatio(ratios, policy, profile, p.budget())
	if !ok {
		return d, fmt.Errorf("%s has no such ratio any more", variance.RatiosFile)
	}
	b, slope := float64(r.Budget), 1.0
	switch p.column {
	case "variance_ratio", "hbn":
		if r.M != nil && r.W != nil {
			pilot := b * *r.W * *r.W / float64(*r.M)
			d.parts = added("stages", []string{"variance of the stage over Uniform's", "rollouts per task", "stage weight"}, []Part{
				shared("pilot", pilot, pilot, float64(*r.M), *r.W),
				shared("continuation", r.VarianceRatio-pilot, r.VarianceRatio-pilot, b-float64(*r.M), 1-*r.W)})
		}
	case "equivalent_budget":
		slope = b / (r.VarianceRatio * r.VarianceRatio)
		d.parts = ranked("ratios", "it is the budget over the ratio", []string{"variance_ratio", "budget"}, []Part{option("hbn", r.VarianceRatio, b)}, false)
		d.parts.makes(b / r.VarianceRatio)
	default:
		return d, errNoParts
	}
	d.errors, err = e.errorsOf([]variance.Ratio{r}, []float64{slope})
	return d, err
}
