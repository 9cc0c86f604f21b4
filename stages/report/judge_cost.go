package report

import (
	"fmt"
	"math"

	"speceval/internal/measurement"
)

// Tolerances of simulated numbers, as fractions of what Uniform takes. Beyond
// them a number agrees within noise as far as chance may have taken the
// published suite, a single one.

// timeTolerance is of every column of times. At 8 rollouts a task a few
// answers that run to the cap decide how long a run takes.
func timeTolerance(budget int32) float64 { return byBudget(budget, 0.04, 0.015) }

// wasteTolerance is of wasted FLOPs. At 8 rollouts a task 0.25 points of it are
// for what our router does and the published one did not: it fills free places
// at once, which wastes 0.2 points more (BENCHMARKS.md).
func wasteTolerance(budget int32) float64 { return byBudget(budget, 0.003+0.0025, 0.0005) }

// extraTolerance is one rollout for each ten tasks. Extra rollouts count whole
// however little of them was generated, so how many there are hangs on what is
// in flight at the barrier, and on the milliseconds of a provisional
// allocation, more than their FLOPs do.
func extraTolerance(budget int32) float64 { return 0.1 / float64(budget) }

// usefulTolerance is of useful FLOPs, whose spread over executions is about a
// sixth of a percentage point: three of these. The fit of the fleet has seen
// the published ones, so that agreement says that it is at work, no more.
func usefulTolerance(int32) float64 { return 0.005 }

func actualTolerance(budget int32) float64 { return usefulTolerance(budget) + wasteTolerance(budget) }

// byBudget is the tolerance at the paper's smallest budget, or above it.
func byBudget(budget int32, smallest, above float64) float64 {
	if budget <= 8 {
		return smallest
	}
	return above
}

// judgeCosts compares Table 2, 3 or 4: published rows digit by digit, simulated
// ones within a tolerance. Measured rows are of other machines and shown only.
func judgeCosts(kind costKind, s stored, paper Targets) []Cell {
	rows := map[string]map[int32]costRow{}
	for _, r := range s.costs[kind.base] {
		if rows[r.provenance] == nil {
			rows[r.provenance] = map[int32]costRow{}
		}
		rows[r.provenance][r.budget] = r
	}
	var cells []Cell
	for _, provenance := range provenances {
		if rows[provenance] == nil && provenance != measurement.Published {
			continue // nobody has run it
		}
		for _, b := range kind.budgets(&paper) {
			if !s.has(b) {
				continue
			}
			place := fmt.Sprintf("%s b=%d", provenance, b)
			row, ok := rows[provenance][b]
			for i, c := range kind.columns {
				want, _ := at(kind.budgets(&paper), c.paper(&paper), b)
				cell := judgeCost(c, row, i, want, lack(row, ok, s.Experiment))
				cells = append(cells, cell.in(kind.base, place, c.name))
			}
			if kind.base == benefitTable.base && b == 8 {
				cells = append(cells, judgeKept(row, paper, lack(row, ok, s.Experiment)).in(kind.base, place, "extra_budget_kept"))
			}
		}
	}
	return cells
}

// lack says why a row cannot be held against the paper's, if it cannot.
func lack(row costRow, there bool, e Experiment) string {
	switch {
	case !there:
		return "no such row is stored"
	case row.provenance != measurement.Measured && row.profiles != len(e.Profiles):
		return fmt.Sprintf("%d of the %d profiles were run", row.profiles, len(e.Profiles))
	}
	return ""
}

// judgeCost compares a number of a row. lack is not empty if it cannot.
func judgeCost(c costColumn, row costRow, column int, paper float64, lack string) Cell {
	decimals := c.decimals(paper)
	switch {
	case lack != "":
		return absent(paper, decimals, lack)
	case row.provenance == measurement.Measured:
		return shown(row, row.cells[column].Value, paper, decimals)
	case row.provenance == measurement.Published || c.replayed:
		return compare(row.cells[column].Estimate, paper, rule{decimals: decimals})
	}
	return within(row.cells[column].Value, paper, row.chance(column), c.tolerance(row.budget), decimals)
}

// judgeKept compares the share of extra rollouts that rounding keeps at b = 8,
// a number of the paper's text.
func judgeKept(row costRow, paper Targets, lack string) Cell {
	const decimals = 4
	want := paper.Table4.ExtraBudgetKeptB8
	switch {
	case lack != "":
		return absent(want, decimals, lack)
	case row.provenance == measurement.Measured:
		return shown(row, row.kept().Value, want, decimals)
	}
	return compare(row.kept(), want, rule{decimals: decimals})
}

// shown is a number beside the paper's without a verdict.
func shown(row costRow, value, paper float64, decimals int) Cell {
	c := beside(value, paper, decimals)
	c.Verdict, c.Note = Shown, fmt.Sprintf("other machines; profiles: %d", row.profiles)
	return c
}

// within holds a simulated number against a published one: it agrees within
// the tolerance, and within noise up to 3 standard deviations by chance beyond
// it.
func within(value, paper, se, tolerance float64, decimals int) Cell {
	c := beside(value, paper, decimals)
	c.Tolerance = &tolerance
	beyond := max(0, math.Abs(*c.Difference)-tolerance)
	if se > 0 {
		ses := beyond / se
		c.SE, c.SEs = &se, &ses
	}
	switch {
	case beyond <= float:
		c.Verdict = Agrees
	case beyond <= sigmas*se:
		c.Verdict = WithinNoise
	default:
		c.Verdict = Differs
	}
	return c
}
