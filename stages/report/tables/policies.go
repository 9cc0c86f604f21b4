package tables

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/table"
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
	Words: `
profiles           The number of profiles that the policy was replayed on at this budget. Of its rows in replay/ratios.parquet.
variance_ratio     The variance of the policy over that of Uniform, <mean>: for the paper's policies the entry of Table 1, or of Table 8 for TS-Neyman. Of replay/ratios.parquet.
variance_ratio_se  <mean_se>
equivalent_budget  The budget of the Uniform with the policy's variance, as in Table 4: Σ_j N_j·b/r_j / Σ_j N_j, the mean over profiles weighted by their tasks. Of replay/ratios.parquet.
reduction_low      A bound of the 95% interval of the reduction, 1 − (1/J)·Σ_j r_j of replay/ratios.parquet: <interval>
reduction_high     A bound of the 95% interval of the reduction, 1 − (1/J)·Σ_j r_j of replay/ratios.parquet: <interval>
profiles_gaining   On how many profiles the policy gains beyond its Monte Carlo error: r_j + 1.96·s_j < 1 (Appendix C.1). Of replay/ratios.parquet.
worst_profile      The profile with the largest variance ratio of the policy at this budget. Of replay/ratios.parquet.
worst_ratio        The variance ratio on the worst profile. Of replay/ratios.parquet.
`,
}

type policyRow struct {
	Budget int32 `csv:"budget"`
	model.PolicyKeys
	Profiles   int      `csv:"profiles"`
	Ratio      float64  `csv:"variance_ratio"`
	RatioSE    float64  `csv:"variance_ratio_se"`
	Worth      float64  `csv:"equivalent_budget" missing:"NaN"`
	Low        *float64 `csv:"reduction_low"`
	High       *float64 `csv:"reduction_high"`
	Gaining    int      `csv:"profiles_gaining"`
	Worst      string   `csv:"worst_profile"`
	WorstRatio float64  `csv:"worst_ratio"`
}

func makePolicies(src *stored.Source) (*model.Sheet, error) {
	all, err := stored.Standings(src)
	if err != nil {
		return nil, err
	}
	var rows []policyRow
	for _, r := range all {
		row := policyRow{
			Budget: r.Budget, PolicyKeys: model.KeysOf(r.Policy), Profiles: len(r.Ratios),
			Ratio: r.Value, RatioSE: r.SE, Worth: math.NaN(),
			Gaining: r.Gaining, Worst: r.Worst.Profile(), WorstRatio: r.Worst.VarianceRatio,
		}
		if worth := variance.MeanEquivalent(r.Ratios); worth > 0 { // a simulated ratio may be below zero
			row.Worth = worth
		}
		if b := r.Between; b != nil {
			row.Low, row.High = new(1-b.High), new(1-b.Low)
		}
		rows = append(rows, row)
	}
	s := model.NewSheet("Uniform-normalized variance of every policy, the mean over profiles, with its 95% interval over resampled benchmarks and the ratio on its worst profile, "+
		"by average budget b. Behind a comma is what a policy knows of the tasks beforehand.", rows)
	besideEachOther(s, all)
	if n, of := alone(all); n > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d of %d profiles have no siblings: policies that would know them know nothing there.", n, of))
	}
	return s, nil
}

// alone counts profiles that are the only ones on their benchmark, among those that a policy with
// siblings was replayed on.
func alone(all []variance.Standing) (n, of int) {
	at := slices.IndexFunc(all, func(r variance.Standing) bool { return r.Policy.Donors.Siblings })
	if at < 0 {
		return 0, 0
	}
	on := make(map[string]int)
	for _, r := range all[at].Ratios {
		on[r.Benchmark]++
	}
	for _, models := range on {
		if models == 1 {
			n++
		}
	}
	return n, len(all[at].Ratios)
}

// besideEachOther sets a line for each policy, and for each budget its mean, the
// interval of it and the worst ratio.
func besideEachOther(s *model.Sheet, rows []variance.Standing) {
	under := func(b int32) []table.Column {
		group := model.BudgetHead(b)
		return []table.Column{
			{Head: table.Head{Plain: "mean"}, Group: group, Format: percent1},
			{Head: table.Head{Plain: "interval"}, Group: group},
			{Head: table.Head{Plain: "worst"}, Group: group, Format: table.Format{Decimals: 2}},
		}
	}
	var places []model.Place
	for _, p := range policy.All {
		for _, r := range rows {
			if r.Policy != p {
				continue
			}
			interval := table.Missing()
			if b := r.Between; b != nil {
				interval = table.Text(fixed(100*b.Low, 1) + "–" + fixed(100*b.High, 1))
			}
			places = append(places, model.Place{Lead: []table.Cell{table.Text(p.Title())}, Budget: r.Budget,
				Cells: []table.Cell{table.Number(r.Value), interval, table.Number(r.Worst.VarianceRatio)}})
		}
	}
	s.SideBySide([]table.Column{{Head: table.Head{Plain: "Policy"}, Align: table.Left}}, under, places)
}

// policyMacros are the mean of every policy that the paper has not, and of every
// policy what it leaves to 100%, from the least to the most.
func policyMacros(src *stored.Source) (all []model.Macro, err error) {
	rows, err := stored.Standings(src)
	for _, r := range rows {
		add := func(name, value string) { all = append(all, macroOf(r.Policy.Macro+name, r.Budget, value)) }
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
