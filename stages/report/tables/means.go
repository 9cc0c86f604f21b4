package tables

import (
	"fmt"
	"math"

	"speceval/internal/variance"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// mean is a mean over profiles, which can be taken apart.
type mean struct {
	variance.Mean
	source *stored.Source
}

// breakdown is the profiles of the mean, and its errors by cause.
func (m mean) breakdown() (d model.Breakdown, err error) {
	var parts []model.Part
	for _, r := range m.Ratios {
		parts = append(parts, model.Shared(r.Profile(), r.VarianceRatio/float64(len(m.Ratios)), r.VarianceRatio, r.RatioSE, float64(r.NTasks)))
	}
	d.Parts = model.Added("profiles", []string{"variance_ratio", "ratio_se", "n_tasks"}, parts)
	d.Errors, err = m.causes(m.Weights())
	return d, err
}

// errorBreakdown is the shares of replays and designs in the error of the mean.
func (m mean) errorBreakdown() (d model.Breakdown, err error) {
	more, err := m.designParts()
	if err != nil {
		return d, err
	}
	d.Parts = model.Squared("replays and designs", errorColumns, append(m.replayParts(), more...))
	return d, nil
}

// errorColumns are the numbers of a part of an error.
var errorColumns = []string{"s.e. of the mean from it"}

// replayParts are the profiles' shares in the Monte Carlo error.
func (m mean) replayParts() (parts []model.Part) {
	for _, r := range m.Ratios {
		s := r.RatioSE / float64(len(m.Ratios))
		parts = append(parts, model.Shared("replay of "+r.Profile(), s*s, s))
	}
	return parts
}

// designParts are the designs' shares in it, by task count.
func (m mean) designParts() (parts []model.Part, err error) {
	e, err := variance.SumErrors(m.Designs, m.Ratios, m.Weights())
	for _, s := range e.Slopes {
		parts = append(parts, model.Shared(fmt.Sprintf("design of N=%d", s.NTasks), s.Change*s.Change, math.Abs(s.Change)))
	}
	return parts, err
}

// causes are the errors of Σ g_j·ratio_j by cause.
func (m mean) causes(weights []float64) ([]model.ErrorOf, error) {
	return causesOf(m.source, m.Designs, m.Ratios, weights)
}

// causesOf are the errors of Σ g_j·ratio_j by cause, for ratios of one policy at
// one budget.
func causesOf(src *stored.Source, designs variance.Schedules, ratios []variance.Ratio, weights []float64) ([]model.ErrorOf, error) {
	redrawn, err := src.ProfileErrors()
	if err != nil {
		return nil, err
	}
	c, err := variance.NewCauses(designs, redrawn, ratios, weights)
	if err != nil {
		return nil, err
	}
	about := "exact: nothing is drawn"
	if draws := ratios[0].Draws; draws > 0 {
		about = fmt.Sprintf("%d draws on a profile, independent between profiles", draws)
	}
	errors := []model.ErrorOf{
		{Cause: model.ReplayCause, SE: &c.Replay, About: about},
		{Cause: model.DesignCause, SE: &c.Design, About: "of the stage weight, which profiles of one task count share"},
		{Cause: model.ProfilesCause, About: fmt.Sprintf("not known: not all are in %s (`speceval run replay`)", variance.ErrorsFile)},
	}
	if ratios[0].W == nil {
		errors[1].About = "none: the policy has no estimated stage weight"
	}
	if p := c.Profiles; p != nil {
		errors[2].SE = &p.SE
		errors[2].About = fmt.Sprintf("each profile redrawn %d times; they move the number by %+.2g ± %.2g", p.Resamples, p.Shift, p.ShiftSE)
	}
	return errors, nil
}
