package tables

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/phrase"
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// differenceBound is a bound of a difference to HBN.
func differenceBound(rows []variance.PairedRow, name string, of func(*variance.Interval) *float64) model.Column {
	return boundColumn(name, "difference", "difference_se",
		func(i int) *float64 {
			if rows[i].Between == nil {
				return nil
			}
			return of(rows[i].Between)
		},
		func(i int) *model.Parts {
			var others []variance.Ratio
			for _, e := range rows[i].Entries {
				others = append(others, e.Other)
			}
			return benchmarkParts("mean difference", others, func(j int) float64 { return rows[i].Entries[j].Difference.Difference })
		})
}

// printedInterval is an interval of a difference in percentage points.
func printedInterval(b *variance.Interval) table.Cell {
	if b == nil {
		return table.Missing()
	}
	return table.Text("[" + signedPoints(b.Low) + ", " + signedPoints(b.High) + "]")
}

// signedPoints is a difference in percentage points.
func signedPoints(v float64) string {
	return minus(table.Format{Decimals: 1, Scale: 100, Signed: true}.Print(v))
}

// rival is a policy of the paper that HBN is held against, at every budget.
type rival struct {
	policy *policy.Policy
	rows   []variance.PairedRow
}

// rivals are those that can be executed and have intervals.
func rivals(rows []variance.PairedRow) (all []rival) {
	for _, p := range policy.All {
		if p.PaperTable == 0 || p.Clairvoyant {
			continue
		}
		r := rival{policy: p}
		for _, row := range rows {
			if row.Policy == p && row.Between != nil {
				r.rows = append(r.rows, row)
			}
		}
		if len(r.rows) > 0 {
			all = append(all, r)
		}
	}
	return all
}

// interval says where the interval of the difference lies, by budget. It is judged
// as it is printed, so that one that begins at 0.0 includes zero.
func (r rival) interval() string {
	said := []string{"lies above zero", "includes zero", "lies below zero"}
	at := make([][]int32, len(said))
	for _, row := range r.rows {
		k := 1
		switch b := row.Between; {
		case math.Round(1000*b.Low) > 0:
			k = 0
		case math.Round(1000*b.High) < 0:
			k = 2
		}
		at[k] = append(at[k], row.Budget)
	}
	return byBudgets(said, at)
}

// profiles says on how many profiles HBN's variance is the lower, by budget.
func (r rival) profiles() string {
	var budgets, counts, against []string
	for _, row := range r.rows {
		budgets = append(budgets, fmt.Sprint(row.Budget))
		counts = append(counts, fmt.Sprint(row.Lower()))
		if 2*row.Lower() < len(row.Entries) {
			against = append(against, fmt.Sprint(row.Budget))
		}
	}
	const form = "HBN has the lower variance on %s of %d profiles at %s"
	all := len(r.rows[0].Entries)
	if len(slices.Compact(slices.Clone(counts))) == 1 {
		return fmt.Sprintf(form, counts[0], all, "every budget")
	}
	said := fmt.Sprintf(form, phrase.And(counts), all, "b = "+phrase.And(budgets))
	switch len(against) {
	case 0:
		return said
	case len(r.rows):
		return said + ", fewer than half at every one"
	}
	return said + ", fewer than half at " + phrase.And(against)
}

// rivalMacros are what the means leave unsaid: the intervals of HBN's gains over the
// paper's other policies, in numbers and in words.
func rivalMacros(src *stored.Source) (all []model.Macro, err error) {
	rows, err := pairedRows(src)
	for _, r := range rivals(rows) {
		name := r.policy.Macro + "OverHBN"
		for _, row := range r.rows {
			all = append(all, macroOf(name+"Low", row.Budget, signedPoints(row.Between.Low)),
				macroOf(name+"High", row.Budget, signedPoints(row.Between.High)),
				macroOf(name+"Lower", row.Budget, fmt.Sprint(row.Lower())))
		}
		all = append(all, model.Macro{Name: "spec" + name + "Interval", Value: r.interval()},
			model.Macro{Name: "spec" + name + "Profiles", Value: r.profiles()})
	}
	return all, err
}
