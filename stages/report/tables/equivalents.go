package tables

import (
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Equivalents is what HBN's precision is worth on every profile, in rollouts of
// Uniform; the paper has the average alone (Table 4).
var Equivalents = &model.Table{
	Base: "budget_equivalents", Label: "tab:budget-equivalents",
	Reads:   stored.Reads{Units: bothRefs},
	Chapter: "Profiles, one by one",
	Remarks: []string{`<ref budget_equivalents> turns them into rollouts: how many of Uniform's HBN's precision is worth.`},
	Make:    makeEquivalents,
}

func makeEquivalents(src *stored.Source) (*model.Sheet, error) {
	res, err := src.Results()
	if err != nil {
		return nil, err
	}
	rows, err := variance.Equivalents(res.Designs, res.Ratios)
	if err != nil {
		return nil, err
	}
	s := &model.Sheet{
		Rows: len(rows),
		Title: "Rollouts per task with which Uniform would have the variance of HBN, b/r with the replayed variance ratio r, " +
			"on every profile and by the average budget b of HBN.",
		Caption: `Rollouts per task with which Uniform would have the variance of HBN, $b/r$ with the replayed variance ratio~$r$, ` +
			`on every profile and by the average budget~$b$ of HBN.`,
	}
	ratios := make([]variance.Ratio, len(rows))
	for i, e := range rows {
		ratios[i] = e.Ratio
	}
	noise := func(field func(string) float64) float64 { return field("equivalent_se") }
	s.Add(profileKeys(func(i int) variance.Ratio { return ratios[i] })...)
	s.Add(
		model.Column{Name: "hbn", Words: "HBN's variance ratio «r» on this profile: " + ratioForm + ". The hbn row of ‹replay/ratios.parquet›.",
			Cell: model.Numbers(func(i int) float64 { return rows[i].VarianceRatio }),
			Noise: func(field func(string) float64) float64 {
				return field("equivalent_se") * field("hbn") * field("hbn") / field("budget")
			},
			Break: func(i int) (model.Breakdown, error) { return ratioBreakdown(src, ratios[i], 1) }},
		model.Column{Name: "equivalent_budget", Words: "The rollouts per task that Uniform would need for HBN's variance: «b/r» (Section 4.3).",
			Cell: model.Numbers(func(i int) float64 { return rows[i].Worth.Value }), Noise: noise,
			Break: func(i int) (model.Breakdown, error) {
				d, err := ratioBreakdown(src, ratios[i], rows[i].Slope())
				r, b := ratios[i].VarianceRatio, float64(ratios[i].Budget)
				d.Parts = model.Ranked("ratios", "it is the budget over the ratio", []string{"variance_ratio", "budget"}, []model.Part{model.Option(policy.HBN.Name, r, b)}, false).Makes(b / r)
				return d, err
			}},
		errorColumn("equivalent_se", "equivalent_budget", "The Monte Carlo standard error of equivalent_budget: «b·s/r²¦b\\,s/r^2», with the error «s» of «r» by replay and by the design's weight.",
			func(i int) float64 { return rows[i].Worth.SE }),
		model.Column{Name: "rounded", Words: "The whole budget «⌊b/r⌋¦\\lfloor b/r\\rfloor» that would be executed (Appendix B.5).",
			Cell: model.Counts(func(i int) int32 { return rows[i].Rounded }), Noise: noise, Step: 1})
	s.Layout = perProfile(ratios, func(b int32) []table.Column {
		return []table.Column{{Head: model.BudgetHead(b), Format: table.Format{Decimals: 2}}}
	}, func(i int) (int, table.Cell) { return 0, table.Number(rows[i].Worth.Value) })
	return s, nil
}
