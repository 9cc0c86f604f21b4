package report

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/measurement"
	"speceval/internal/table"
)

// Costs is what Tables 2 to 4 are made of.
type Costs struct {
	Runs    []measurement.Measurement // published runs, and those of the systems stage
	Repeats []measurement.Repeat      // the executions behind those of the systems stage
	Drawn   bool                      // answers of measured runs had drawn lengths
	Results                           // designs and HBN's ratios, of which Table 4 makes equivalent budgets
}

// provenances are the groups of rows of Tables 2 to 4, in their order.
var provenances = []string{measurement.Published, measurement.Simulated, measurement.Measured}

// costKind is what tells Tables 2, 3 and 4 from one another.
type costKind struct {
	base, label, title, caption string
	overview                    string // heading in the text of verdicts
	columns                     []costColumn
	strategies                  []string // a setting counts if it has a run of each
	budgets                     func(*Targets) []int32

	// figures computes the columns over the settings of one provenance and
	// budget, with the Monte Carlo error of what comes from the replay.
	figures func(Costs, []measurement.Setting) ([]Estimate, error)

	// differing counts the settings that did not execute the equivalent
	// budget of the stored ratios; nil for tables that know none.
	differing func(Costs, []measurement.Setting) (int, error)
}

// replayed reports whether some column comes from the replay.
func (k costKind) replayed() bool {
	return slices.ContainsFunc(k.columns, func(c costColumn) bool { return c.replayed })
}

// costColumn is a number of Tables 2 to 4: a fraction, or a budget.
type costColumn struct {
	name        string // in CSV
	head, group table.Head
	format      table.Format
	paper       func(*Targets) []float64 // by budget
	macro       string                   // its name in LaTeX commands; empty for a repetition

	// replayed says that the number comes from the replay's ratios alone, and
	// so has a Monte Carlo error in place of a spread over executions.
	replayed bool

	// tolerance is how far a simulated number may be from the paper's.
	tolerance func(budget int32) float64
}

// decimals is the number of decimals of a printed number of the paper, as a
// fraction.
func (c costColumn) decimals(paper float64) int {
	switch {
	case !c.format.Percent:
		return c.format.Decimals
	case c.format.Fine && math.Abs(paper) < 0.001:
		return c.format.Decimals + 3
	}
	return c.format.Decimals + 2
}

// costRow is a row of Tables 2 to 4.
type costRow struct {
	budget     int32
	provenance string
	cells      []costCell // by column of the kind
	profiles   int        // settings that the sums are over
	drawn      bool       // the lengths of answers were drawn, and not the models'
	repeats    int        // executions of all of them
	differing  int        // settings whose executed equivalent budget is not that of the ratios
}

// costCell is a number with its Monte Carlo error and, with two repeats or
// more, the standard deviation of a single execution of the suite.
type costCell struct {
	Estimate
	sd *float64
}

// chance is the standard deviation of the mean over repeats less a further one,
// by chance: the published suite is a single one, and has met as many long
// answers as it happened to. It is 0 where unknown.
func (r costRow) chance(column int) float64 {
	if sd := r.cells[column].sd; sd != nil {
		return *sd * math.Sqrt(1+1/float64(r.repeats))
	}
	return 0
}

// costRows computes a table: a row for each provenance and budget that has a
// whole setting.
func costRows(kind costKind, costs Costs) ([]costRow, error) {
	if kind.replayed() && len(costs.Ratios) == 0 {
		return nil, nil // the replay has not run
	}
	var rows []costRow
	for _, provenance := range provenances {
		for _, b := range runBudgets(costs.Runs, provenance) {
			settings := measurement.Settings(costs.Runs, provenance, b, kind.strategies...)
			if len(settings) == 0 {
				continue
			}
			row, err := newCostRow(kind, costs, settings)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func newCostRow(kind costKind, costs Costs, settings []measurement.Setting) (costRow, error) {
	row := costRow{budget: settings[0].Budget, provenance: settings[0].Provenance, profiles: len(settings), repeats: 1}
	row.drawn = costs.Drawn && row.provenance == measurement.Measured
	figures, err := kind.figures(costs, settings)
	if err != nil {
		return row, err
	}
	for _, f := range figures {
		row.cells = append(row.cells, costCell{Estimate: f})
	}
	if kind.differing != nil {
		if row.differing, err = kind.differing(costs, settings); err != nil {
			return row, err
		}
	}
	if row.provenance == measurement.Published {
		return row, nil // executed once
	}
	suites := measurement.Suites(costs.Repeats, row.provenance, row.budget, kind.strategies...)
	row.repeats = len(suites)
	if row.repeats == 0 || len(suites[0]) != row.profiles {
		return row, fmt.Errorf("%s and %s are not of one run: no repeat has the %d %s settings at budget %d; run the systems stage again",
			measurement.File, measurement.RepeatsFile, row.profiles, row.provenance, row.budget)
	}
	return row, row.spread(kind, costs, suites)
}

// spread fills in the standard deviations over repeats of the suite.
func (r *costRow) spread(kind costKind, costs Costs, suites [][]measurement.Setting) error {
	values := make([][]float64, len(kind.columns))
	for _, settings := range suites {
		figures, err := kind.figures(costs, settings)
		if err != nil {
			return err
		}
		for i, f := range figures {
			values[i] = append(values[i], f.Value)
		}
	}
	for i, c := range kind.columns {
		if sd, _ := measurement.Spread(values[i]); !c.replayed && !math.IsNaN(sd) {
			r.cells[i].sd = &sd
		}
	}
	return nil
}

// runBudgets is the budgets of the runs of one provenance in rising order.
func runBudgets(runs []measurement.Measurement, provenance string) []int32 {
	var all []int32
	for _, r := range runs {
		if r.Provenance == provenance {
			all = append(all, r.ReferenceBudget)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
