package report

import (
	"fmt"

	"speceval/internal/variance"
	"speceval/stages/report/measured"
)

// takeSchedule takes a cell of Table 5 or 6 apart: the pilot sizes that could
// have been selected.
func takeSchedule(kind scheduleKind) func(*evidence, place) (dissected, error) {
	return func(e *evidence, p place) (d dissected, err error) {
		res, err := e.replay()
		if err != nil {
			return d, err
		}
		var parts []Part
		var selected variance.Design
		for _, c := range res.Designs {
			if c.Policy != kind.policy || c.NTasks != p.integer("n_tasks") || c.Budget != p.budget() {
				continue
			}
			parts = append(parts, option(fmt.Sprintf("m=%d", c.M), c.Risk, c.RiskSE, c.W, c.Gap, c.GapSE))
			if c.Selected {
				selected = c
			}
		}
		if !selected.Selected {
			return d, fmt.Errorf("%s has no such design any more", variance.DesignsFile)
		}
		d.parts = ranked("pilot sizes", "the one with the least risk is selected", []string{"risk", "risk_se", "w", "gap", "gap_se"}, parts, false)
		switch p.column {
		case "m":
			d.parts.makes(float64(selected.M))
		case "w":
			se := weightSE(selected)
			d.errors = []ErrorOf{{designCause, &se, "from that of risk = b·w/m, at this pilot size"}}
			d.parts.makes(selected.W)
		case "risk":
			d.errors = []ErrorOf{{designCause, &selected.RiskSE, designAbout(kind)}}
			d.parts.makes(selected.Risk)
		case "risk_se":
			d.parts.makes(selected.RiskSE)
		}
		return d, nil
	}
}

// designAbout says what the error of a design's risk is the spread of.
func designAbout(kind scheduleKind) string {
	if kind.policy == variance.HBN {
		return "from the spread over independent replicates of the prior-predictive panels"
	}
	return "from the spread over batches of the pilot draws on the profiles"
}

// takeSearch takes a cell of Table 8 apart.
func takeSearch(e *evidence, p place) (d dissected, err error) {
	b := p.budget()
	switch p.column {
	case "hbn", "hbn_se":
		return e.mean(variance.HBN, b, p.column == "hbn_se")
	case "delta":
		ts, _ := numberIn(p.fields["ts"])
		hbn, _ := numberIn(p.fields["hbn"])
		if se, ok := numberIn(p.fields["delta_se"]); ok {
			d.errors = []ErrorOf{{replayCause + " and " + designCause, &se, "the two share no draws: their errors add in squares"}}
		}
		d.parts = added("policies", []string{"number"}, []Part{shared(variance.TSNeyman, ts, ts), shared(variance.HBN, -hbn, hbn)})
		return d, nil
	}
	all, err := e.searched()
	if err != nil {
		return d, err
	}
	var parts []Part
	var selected *variance.Search
	for _, c := range all {
		if c.Budget != b {
			continue
		}
		parts = append(parts, option(fmt.Sprintf("alpha=%g m0=%d", c.Alpha, c.M0), c.MSE, c.MSESE, c.Raw, c.RawSE, float64(c.Draws), oneIf(c.Finalist)))
		if c.Selected {
			selected = &c
		}
	}
	if selected == nil {
		return d, fmt.Errorf("%s has no selected candidate at budget %d any more", variance.SearchFile, b)
	}
	d.parts = ranked("candidates", "the one with the least mse is selected, among the finalists", []string{"mse", "mse_se", "without control variate", "s.e. of that", "draws", "finalist"}, parts, false)
	switch p.column {
	case "ts":
		d.parts.makes(selected.MSE)
		d.errors = []ErrorOf{{replayCause, &selected.MSESE, fmt.Sprintf("%d trajectories on a profile; the choice by the same trajectories is not in it", selected.Draws)}}
		if profiles, err := e.replayed(variance.TSNeyman, b); err == nil {
			more, err := e.errorsOf(profiles, equalWeights(len(profiles)))
			if err != nil {
				return d, err
			}
			d.errors = append(d.errors, more[2])
		}
	case "ts_se":
		d.parts.makes(selected.MSESE)
	case "alpha":
		d.parts.makes(selected.Alpha)
	case "m0":
		d.parts.makes(float64(selected.M0))
	}
	return d, nil
}

// oneIf is a yes or no as a number.
func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// dissections take cells apart, by table. A table that is not here is made of
// published constants alone.
var dissections = map[string]func(*evidence, place) (dissected, error){
	"table1_variance":      takeVariance,
	computeTable.base:      takeCosts(computeTable),
	timeTable.base:         takeCosts(timeTable),
	benefitTable.base:      takeCosts(benefitTable),
	hbnSchedule.base:       takeSchedule(hbnSchedule),
	enSchedule.base:        takeSchedule(enSchedule),
	"table8_ts_neyman":     takeSearch,
	"robustness":           takeRobustness,
	"profile_ratios":       takeProfile,
	"error_split":          takeErrors,
	"paired_differences":   takePaired,
	"budget_equivalents":   takeProfile,
	measured.VarianceTable: takeRuns,
}
