package tables

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/display"
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Policies is every policy of the replay side by side, the paper's and ours, with
// intervals that resample the benchmarks. It is not in the paper.
var Policies = &model.Table{
	Base: "table9_policies", Label: "tab:policies",
	Reads:   stored.Reads{Units: bothRefs},
	Chapter: "Beyond the paper",
	Remarks: []string{
		`<ref table9_policies> has all policies side by side, the paper's and ours, with intervals for other benchmarks: profiles of one benchmark have their tasks in common, so benchmarks are drawn anew and bring all of their profiles.`,
		`More stages, whose sizes and weights are fixed by what was seen before them, bring HBN to \specStagedVariance<LOW>{} of Uniform's variance at $b=<low>$ and \specStagedVariance<HIGH>{} at $b=<high>$.`,
		`What other checkpoints have shown of the same tasks brings it to \specInformedStagedSiblingsVariance<LOW>{} and \specInformedStagedSiblingsVariance<HIGH>{}; an earlier evaluation with 16 rollouts a task, to \specInformedStagedEarlierOneSixVariance<LOW>{} and \specInformedStagedEarlierOneSixVariance<HIGH>{}.`,
	},
	Make: makePolicies, Macros: policyMacros,
}

// standings are the rows of the table.
func standings(src *stored.Source) ([]variance.Standing, error) {
	res, err := src.Results()
	if err != nil {
		return nil, err
	}
	return variance.Standings(res.Designs, res.Ratios)
}

func makePolicies(src *stored.Source) (*model.Sheet, error) {
	rows, err := standings(src)
	if err != nil {
		return nil, err
	}
	const what = "Uniform-normalized variance of every policy, the mean over profiles, with its 95% interval over resampled benchmarks and the ratio on its worst profile"
	s := &model.Sheet{Rows: len(rows), Title: what + ", by average budget b. Behind a comma is what a policy knows of the tasks beforehand."}
	s.Add(model.BudgetKey(func(i int) int32 { return rows[i].Spread.Budget }))
	s.Add(model.PolicyKeys(model.PolicyWords, func(i int) *policy.Policy { return rows[i].Policy })...)
	s.Add(standingColumns(rows)...)
	s.Add(reductionBounds(rows)...)
	s.Add(extremeColumns(rows)...)
	s.Layout = func(t *table.Table) { besideEachOther(t, rows) }
	return s, nil
}

// standingColumns are the mean of a policy and the Uniform that it is worth.
func standingColumns(rows []variance.Standing) []model.Column {
	return []model.Column{
		{Name: "profiles", Words: "The number of profiles that the policy was replayed on at this budget. Of its rows in replay/ratios.parquet.",
			Cell: model.Counts(func(i int) int { return len(rows[i].Ratios) })},
		{Name: "variance_ratio", Format: percent1,
			Words: "The variance of the policy over that of Uniform, " + meanForm + ": for the paper's policies the entry of Table 1, or of Table 8 for TS-Neyman. Of replay/ratios.parquet.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].Value })},
		{Name: "variance_ratio_se", Role: model.Error, Of: "variance_ratio", Words: meanErrorWords,
			Cell: model.Numbers(func(i int) float64 { return rows[i].SE })},
		{Name: "equivalent_budget",
			Words: "The budget of the Uniform with the policy's variance, as in Table 4: Σ_j N_j·b/r_j / Σ_j N_j, the mean over profiles weighted by their tasks. Of replay/ratios.parquet.",
			Cell: func(i int) table.Cell {
				if v := variance.MeanEquivalent(rows[i].Ratios); v > 0 { // a simulated ratio may be below zero
					return table.Number(v)
				}
				return table.Missing()
			}},
	}
}

// boundColumn is a bound of an interval that draws benchmarks anew: of nothing where
// at gives none.
func boundColumn(name, what string, at func(row int) *float64) model.Column {
	return model.Column{Name: name,
		Words: "A bound of the 95% interval of " + what + ": the middle 95% of the mean over 10,000 draws of the benchmarks, as many as there are, with replacement, each with all of its profiles. " +
			"The draws are the same in every row.",
		Cell: func(i int) table.Cell { return table.Optional(at(i)) }}
}

// reductionBounds are the bounds of what a policy leaves to 1.
func reductionBounds(rows []variance.Standing) []model.Column {
	bound := func(name string, of func(*variance.Interval) float64) model.Column {
		return boundColumn(name, "the reduction, 1 − (1/J)·Σ_j r_j of replay/ratios.parquet",
			func(i int) *float64 {
				if rows[i].Between == nil {
					return nil
				}
				v := 1 - of(rows[i].Between)
				return &v
			})
	}
	return []model.Column{
		bound("reduction_low", func(b *variance.Interval) float64 { return b.High }),
		bound("reduction_high", func(b *variance.Interval) float64 { return b.Low }),
	}
}

// extremeColumns count the profiles that gain, and name the worst one.
func extremeColumns(rows []variance.Standing) []model.Column {
	return []model.Column{
		{Name: "profiles_gaining",
			Words: "On how many profiles the policy gains beyond its Monte Carlo error: r_j + 1.96·s_j < 1 (Appendix C.1). Of replay/ratios.parquet.",
			Cell:  model.Counts(func(i int) int { return rows[i].Spread.Gaining })},
		{Name: "worst_profile", Words: "The profile with the largest variance ratio of the policy at this budget. Of replay/ratios.parquet.",
			Cell: func(i int) table.Cell { return table.Text(rows[i].Spread.Worst.Profile()) }},
		{Name: "worst_ratio", Words: "The variance ratio on the worst profile. Of replay/ratios.parquet.",
			Cell: model.Numbers(func(i int) float64 { return rows[i].Spread.Worst.VarianceRatio })},
	}
}

// besideEachOther sets a row for each policy, and for each budget its mean, the
// interval of it and the worst ratio.
func besideEachOther(t *table.Table, rows []variance.Standing) {
	t.Columns = []table.Column{{Head: table.Head{Plain: "Policy"}, Align: table.Left}}
	first, at := map[int32]int{}, map[*policy.Policy]int{} // columns by budget, rows by policy
	for _, p := range policy.All {
		for _, r := range rows {
			if _, seen := at[p]; r.Policy == p && !seen {
				at[p] = len(at)
			}
		}
	}
	for _, r := range rows {
		b := r.Spread.Budget
		if _, seen := first[b]; !seen {
			first[b] = len(t.Columns)
			group := model.BudgetHead(b)
			t.Columns = append(t.Columns,
				table.Column{Head: table.Head{Plain: "mean"}, Group: group, Format: percent1},
				table.Column{Head: table.Head{Plain: "interval"}, Group: group},
				table.Column{Head: table.Head{Plain: "worst"}, Group: group, Format: table.Format{Decimals: 2}})
		}
	}
	t.Rows = make([][]table.Cell, len(at))
	for _, r := range rows {
		line := &t.Rows[at[r.Policy]]
		if *line == nil {
			*line = make([]table.Cell, len(t.Columns))
			(*line)[0] = table.Text(r.Policy.Title())
		}
		c := first[r.Spread.Budget]
		(*line)[c], (*line)[c+2] = table.Number(r.Value), table.Number(r.Spread.Worst.VarianceRatio)
		if b := r.Between; b != nil {
			(*line)[c+1] = table.Text(fixed(100*b.Low, 1) + "–" + fixed(100*b.High, 1))
		}
	}
}

// policyMacros are the mean of every policy that the paper has not, and of every
// policy what it leaves to 100%, from the least to the most.
func policyMacros(src *stored.Source) (all []model.Macro, err error) {
	rows, err := standings(src)
	for _, r := range rows {
		add := func(name, value string) { all = append(all, macroOf(r.Policy.Macro+name, r.Spread.Budget, value)) }
		if r.Policy.PaperTable == 0 {
			add("Variance", percent1.Print(r.Value))
			add("Reduction", percent1.Print(1-r.Value))
			add("Worth", fmt.Sprintf("%.1f", variance.MeanEquivalent(r.Ratios)))
		}
		if r.Between != nil {
			add("ReductionLow", percent1.Print(1-r.Between.High))
			add("ReductionHigh", percent1.Print(1-r.Between.Low))
		}
	}
	return all, err
}

// differenceBound is a bound of a difference to HBN.
func differenceBound(rows []variance.PairedRow, name string, of func(*variance.Interval) *float64) model.Column {
	return boundColumn(name, "difference",
		func(i int) *float64 {
			if rows[i].Between == nil {
				return nil
			}
			return of(rows[i].Between)
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
	said := fmt.Sprintf(form, display.And(counts), all, "b = "+display.And(budgets))
	switch len(against) {
	case 0:
		return said
	case len(r.rows):
		return said + ", fewer than half at every one"
	}
	return said + ", fewer than half at " + display.And(against)
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
