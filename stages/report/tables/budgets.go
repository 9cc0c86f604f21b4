package tables

import (
	"fmt"
	"math"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/paper"
	"speceval/internal/variance"
	"speceval/stages/report/model"
)

// executedBudgets are the equivalent budgets of settings that were executed, one by
// one, beside those of the stored ratios.
type executedBudgets struct {
	executed, wanted []int32
	another          []float64 // the probability that a replay of the authors' gives another than ours
	differing        int
}

// executedBudgets is the executed budget of each setting, and ⌊b/r⌋ of the stored
// ratio.
func (r *costRow) executedBudgets() (all executedBudgets, err error) {
	worth, err := variance.Equivalents(r.designs, r.ratios)
	if err != nil {
		return all, err
	}
	for i, s := range r.Settings {
		executed := s.Runs[measurement.UniformEquivalent].Budget
		all.executed, all.wanted = append(all.executed, executed), append(all.wanted, worth[i].Rounded)
		all.another = append(all.another, worth[i].Another())
		if executed != worth[i].Rounded {
			all.differing++
		}
	}
	return all, nil
}

// expected is how many differ by the noise of two replays.
func (all executedBudgets) expected() (n float64) {
	for _, p := range all.another {
		n += p
	}
	return n
}

// judgeBudgets compares the budgets that the authors executed with those of our
// replay, in every setting, and judges how many differ: each may, by noise.
func judgeBudgets(rows []*costRow) []agreement.Comparison {
	var all executedBudgets
	for _, r := range rows {
		if r.Provenance == measurement.Published {
			all.differing += r.budgets.differing
			all.another = append(all.another, r.budgets.another...)
		}
	}
	c := agreement.Comparison{Verdict: agreement.Absent, Note: "no such row is stored"}
	if n := len(all.another); n > 0 {
		c = agreement.Counted(all.differing, all.another)
		c.Note = fmt.Sprintf("of %d, %s", n, c.Note)
	}
	return []agreement.Comparison{c.As(agreement.Computed).In(paper.Benefit, measurement.Published+" all", differingName)}
}

const differingName = "budgets_differing"

// differingColumn counts the budgets that differ.
func differingColumn(rows []*costRow) model.Column {
	return model.Column{Name: differingName, Role: model.Count,
		Words: "In how many settings the executed budget is not the «⌊b/r⌋¦\\lfloor b/r\\rfloor» of the stored ratios: their noise, or another schedule's, moves it across a whole number.",
		Cell:  model.Counts(func(i int) int { return rows[i].budgets.differing }),
		Break: func(i int) (d model.Breakdown, err error) {
			var parts []model.Part
			for j, s := range rows[i].Settings {
				wanted, executed := float64(rows[i].budgets.wanted[j]), float64(rows[i].budgets.executed[j])
				parts = append(parts, model.Option(s.Profile(), math.Abs(wanted-executed), wanted, executed, rows[i].ratios[j].VarianceRatio, rows[i].budgets.another[j]))
			}
			d.Parts = model.Ranked("profiles", "those that differ are counted", []string{"differs by", "budget of the ratio", "executed budget", "variance_ratio", "chance of it"}, parts, true)
			return d, nil
		}}
}

// expectedColumn is how many may be expected to differ.
func expectedColumn(rows []*costRow) model.Column {
	return model.Column{Name: "budgets_differing_expected", Role: model.Cause, Of: differingName,
		Words: "How many of these budgets another replay of the same size, with noise of its own, is expected to round otherwise: " +
			"«Σ_j P(⌊b/r_j + √2·s_j·z⌋ ≠ ⌊b/r_j⌋)¦\\sum_j\\mathrm{P}(\\lfloor b/r_j+\\sqrt2\\,s_jz\\rfloor\\ne\\lfloor b/r_j\\rfloor)» with a normal «z» and the Monte Carlo error «s_j» of «b/r_j».",
		Cell: model.Numbers(func(i int) float64 { return rows[i].budgets.expected() })}
}

// budgetNotes say what the printed budgets leave out: which of them are not the
// authors', their Monte Carlo errors, and how many executed budgets are not those of
// the stored ratios.
func budgetNotes(rows []*costRow) []string {
	if len(rows) == 0 {
		return nil
	}
	worst, expected := 0.0, 0.0
	settings, differing := map[string]int{}, map[string]int{}
	for _, r := range rows {
		worst = max(worst, r.cells[continuousColumn].SE)
		settings[r.Provenance] += len(r.Settings)
		differing[r.Provenance] += r.budgets.differing
		if r.Provenance == measurement.Published {
			expected += r.budgets.expected()
		}
	}
	var notes []string
	if settings[measurement.Published] > 0 {
		notes = append(notes, computedMark+" Computed here, by the ratios of our own replay: the continuous budgets, and what is over them. The budgets that were executed and the times are the authors'.")
	}
	notes = append(notes, fmt.Sprintf("Monte Carlo standard errors of the continuous budgets are at most %.3f.", worst))
	for _, p := range measurement.Provenances {
		if differing[p] == 0 {
			continue
		}
		note := fmt.Sprintf("In %d of the %d %s settings this replay's b/r rounds down to another budget than was executed", differing[p], settings[p], p)
		if p == measurement.Published {
			note += fmt.Sprintf("; %.1f are expected by the noise of both replays", expected)
		}
		notes = append(notes, note+".")
	}
	return notes
}
