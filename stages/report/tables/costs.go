package tables

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// costTable is the difference between Tables 2, 3 and 4: sums over settings
// of runs, a row for each provenance and budget.
type costTable struct {
	section    string // of the paper
	title      string
	columns    []costColumn
	strategies []string // a setting counts if it has a run of each

	replayed bool // it has equivalent budgets, which come from the replay's ratios
}

// costColumn is a number of Tables 2 to 4: a fraction, or a budget.
type costColumn struct {
	name, words string // words as those of model.Table
	head, group table.Head
	format      table.Format
	macro       string // its name in LaTeX commands; empty for a repetition
	quotient    *measurement.Quotient

	// replayed, if not nil, makes the quotient of HBN's variance ratios instead: the
	// number comes from these alone, and so has a Monte Carlo error in place of a
	// spread over executions.
	replayed func(ratio func(measurement.Setting) float64) *measurement.Quotient

	// naive makes the number on a fleet that is as fast whatever waits and wastes
	// nothing; nil: zero.
	naive *measurement.Quotient

	executed bool // of the replayed ones: a mean of budgets that were executed
	inFit    bool // the fit of the simulated fleet has seen it (data/fleet/README.md)
}

// class is where the number comes from in rows of a provenance. Budgets follow from
// our own replay, but for those that the authors executed.
func (c costColumn) class(provenance string) agreement.Class {
	switch {
	case provenance == measurement.Measured:
		return agreement.Measured
	case c.replayed != nil && !(c.executed && provenance == measurement.Published):
		return agreement.Computed
	case provenance == measurement.Published:
		return agreement.Reaggregated
	case c.inFit:
		return agreement.InFit
	}
	return agreement.Predicted
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
	measurement.Group
	kind    *costTable
	ratios  []variance.Ratio // HBN's, where the table has what is replayed
	designs variance.Schedules
	cells   []costCell // by column
	drawn   bool       // the lengths of answers were drawn, and not the models'

	policy  *policy.Policy // that was executed, where a table has several
	budgets executedBudgets
}

// costCell is a number with its Monte Carlo error and, with two repeats or
// more, the standard deviation of a single execution of the suite.
type costCell struct {
	agreement.Estimate
	sd *float64
}

// quotient is how a column of the row is computed.
func (r *costRow) quotient(column int) *measurement.Quotient {
	c := r.kind.columns[column]
	if c.replayed == nil {
		return c.quotient
	}
	byProfile := map[string]float64{}
	for i, s := range r.Settings {
		byProfile[s.Profile()] = r.ratios[i].VarianceRatio
	}
	return c.replayed(func(s measurement.Setting) float64 { return byProfile[s.Profile()] })
}

// repeated is the number in a column as each execution of the suite gives it.
func (r *costRow) repeated(column int) []float64 { return r.inSuites(r.quotient(column)) }

func (r *costRow) inSuites(q *measurement.Quotient) (values []float64) {
	for _, settings := range r.Suites {
		values = append(values, q.Value(settings))
	}
	return values
}

// forecast is what the executions of the suite foretell of a further one, as the
// published suite is: it has met as many long answers as it happened to.
func (r *costRow) forecast(column int) agreement.Forecast {
	return agreement.NewForecast(r.cells[column].Value, r.cells[column].sd, r.Repeats())
}

// naive is the naive fleet's forecast.
func (r *costRow) naive(column int) agreement.Forecast {
	q := r.kind.columns[column].naive
	if q == nil {
		return agreement.Forecast{}
	}
	sd, _ := measurement.Spread(r.inSuites(q))
	return agreement.NewForecast(q.Value(r.Settings), &sd, r.Repeats())
}

// rows computes the table: a row for each provenance and budget that has a whole
// setting.
func (k *costTable) rows(src *stored.Source) ([]*costRow, error) {
	return stored.Once(src, k.section, func(src *stored.Source) ([]*costRow, error) {
		costs, err := src.Costs()
		if err != nil {
			return nil, err
		}
		var res stored.Results
		if k.replayed {
			if res, err = src.Results(); err != nil || len(res.Ratios) == 0 {
				return nil, err // the replay has not run
			}
		}
		groups, err := src.Groups(k.strategies...)
		if err != nil {
			return nil, err
		}
		var rows []*costRow
		for _, g := range groups {
			row := &costRow{Group: g, kind: k, designs: res.Designs, drawn: costs.Drawn && g.Provenance == measurement.Measured}
			if err := row.fill(res.Ratios); err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
		return rows, nil
	})
}

// fill computes the numbers of a row.
func (r *costRow) fill(ratios []variance.Ratio) (err error) {
	if r.kind.replayed {
		if r.ratios, err = hbnRatios(r.Settings, ratios); err != nil {
			return err
		}
		if r.budgets, err = r.executedBudgets(); err != nil {
			return err
		}
	}
	for j, c := range r.kind.columns {
		cell := costCell{Estimate: exactly(r.quotient(j).Value(r.Settings))}
		if sd, _ := measurement.Spread(r.repeated(j)); c.replayed == nil && !math.IsNaN(sd) {
			cell.sd = &sd
		}
		r.cells = append(r.cells, cell)
	}
	if r.kind.replayed {
		return r.budgetErrors()
	}
	return nil
}

// hbnRatios is HBN's ratio in each setting. A setting that the replay does not
// cover is an error.
func hbnRatios(settings []measurement.Setting, ratios []variance.Ratio) ([]variance.Ratio, error) {
	byProfile := map[string]variance.Ratio{}
	for _, r := range variance.Pick(ratios, policy.HBN, settings[0].Budget()) {
		byProfile[r.Profile()] = r
	}
	out := make([]variance.Ratio, len(settings))
	for i, s := range settings {
		r, ok := byProfile[s.Profile()]
		if !ok || r.NTasks != s.NTasks() {
			return nil, fmt.Errorf("%s of %d tasks at budget %d is among the %s runs, but %s has no HBN ratio for it; run the replay stage on the same profiles",
				s.Profile(), s.NTasks(), s.Budget(), s.Provenance(), variance.RatiosFile)
		}
		out[i] = r
	}
	return out, nil
}

// provenanceLabels head the rows of a provenance.
var provenanceLabels = map[string]string{
	measurement.Published: "Published measurements",
	measurement.Simulated: "Simulated fleet",
	measurement.Measured:  "Measured on real servers",
}

// heading says where the rows of a provenance come from, and how many profiles and
// repeats are in them.
func heading(rows []*costRow, provenance string) table.Head {
	var profiles, repeats []int
	drawn := false
	for _, r := range rows {
		if r.Provenance == provenance {
			drawn = r.drawn
			profiles, repeats = append(profiles, len(r.Settings)), append(repeats, r.Repeats())
		}
	}
	head := fmt.Sprintf("%s (profiles: %s", provenanceLabels[provenance], model.Between(profiles))
	if repeats[0] > 1 {
		head += fmt.Sprintf("; mean of %s repeats ± standard deviation of one", model.Between(repeats))
	}
	if drawn {
		head += "; lengths of answers drawn from the length model"
	}
	return table.Head{Plain: head + ")"}
}

// hasRows reports whether there are rows of a provenance.
func hasRows(rows []*costRow, provenance string) bool {
	return slices.ContainsFunc(rows, func(r *costRow) bool { return r.Provenance == provenance })
}
