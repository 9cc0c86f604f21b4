package tables

import (
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Profiles is every replayed ratio, as stored, in CSV; in print, HBN next to the
// Oracle on every profile.
var Profiles = &model.Table{
	Base: "profile_ratios", Label: "tab:profile-ratios",
	Reads:   stored.Reads{Units: []dag.Ref{stored.RatiosRef}},
	Chapter: "Profiles, one by one",
	Remarks: []string{`<ref profile_ratios> has HBN and the Oracle on every profile, at every budget.`},
	Make:    makeProfiles,
	Words: `
alpha           The prior strength: of IBN and TS-Neyman, which have one.
m               The pilot size m, rollouts of every task before the allocation (Section 2), or the warm start m_0 of TS-Neyman; the Oracle has none.
w               The stage weight w of the pilot in the estimate (Eq. 4); none for the Oracle and TS-Neyman.
variance_ratio  The variance of the policy over that of Uniform on this profile: <ratio>, the expectation over the pilot vectors drawn. The Oracle's, b·Σ(v_i/n*_i)/Σ v_i with the integer
                allocation of Eq. 2, is exact; TS-Neyman's is a mean squared error over trajectories (Appendix C.3). A row of replay/ratios.parquet.
ratio_se        The Monte Carlo standard error of variance_ratio: b(1−w)²·sd(C)/√draws, with the spread of the continuation C = Σ(v_i/L_i)/Σ v_i over the pilot vectors and the design (m, w)
                given; 0 where the ratio is exact.
draws           The pilot vectors, or trajectories, that the ratio was replayed on; 0 where it is exact (Appendix B.4).
`,
}

func makeProfiles(src *stored.Source) (*model.Sheet, error) {
	rows, err := stored.Ratios(src)
	if err != nil {
		return nil, err
	}
	s := model.NewSheet("Uniform-normalized variance of HBN and of the Oracle on every profile, by average budget b.", rows)
	shown := []*policy.Policy{policy.HBN, policy.Oracle}
	var places []model.Place
	for _, r := range rows {
		p := place(r)
		if p.At = slices.IndexFunc(shown, func(p *policy.Policy) bool { return p.Key() == r.Key() }); p.At >= 0 {
			p.Cells = []table.Cell{table.Number(r.VarianceRatio)}
		}
		places = append(places, p)
	}
	s.SideBySide(profileLead, func(b int32) (columns []table.Column) {
		for _, p := range shown {
			columns = append(columns, table.Column{Head: table.Head{Plain: p.Label}, Group: model.BudgetHead(b), Format: table.Format{Decimals: 3}})
		}
		return columns
	}, places)
	return s, nil
}

// profileLead are the columns before those of budgets where a line is a profile.
var profileLead = []table.Column{
	{Head: table.Head{Plain: "Benchmark"}, Align: table.Left},
	{Head: table.Head{Plain: "Checkpoint"}, Align: table.Left},
	{Head: table.Head{Plain: "N", TeX: "$N$"}},
}

// place is where a ratio stands in such a layout.
func place(r variance.Ratio) model.Place {
	return model.Place{Budget: r.Budget, Lead: []table.Cell{table.Text(r.Benchmark), model.Checkpoint(r.Model).Shown(), table.Integer(r.NTasks)}}
}

// Equivalents is the worth of HBN's precision on every profile, in rollouts of
// Uniform; the paper has the average alone (Table 4).
var Equivalents = &model.Table{
	Base: "budget_equivalents", Label: "tab:budget-equivalents",
	Reads:   stored.Reads{Units: bothRefs},
	Chapter: "Profiles, one by one",
	Remarks: []string{`<ref budget_equivalents> turns them into rollouts: how many of Uniform's HBN's precision is worth.`},
	Make:    makeEquivalents,
	Words: `
hbn                HBN's variance ratio r on this profile: <ratio>. The hbn row of replay/ratios.parquet.
equivalent_budget  The rollouts per task that Uniform would need for HBN's variance: b/r (Section 4.3).
equivalent_se      The Monte Carlo standard error of equivalent_budget: b·s/r², with the error s of r by replay and by the design's weight.
rounded            The whole budget ⌊b/r⌋ that would be executed (Appendix B.5).
`,
}

type equivalentRow struct {
	Benchmark  string  `csv:"benchmark"`
	Model      string  `csv:"model"`
	NTasks     int32   `csv:"n_tasks"`
	Budget     int32   `csv:"budget"`
	HBN        float64 `csv:"hbn"`
	Equivalent float64 `csv:"equivalent_budget"`
	SE         float64 `csv:"equivalent_se" of:"equivalent_budget"`
	Rounded    int32   `csv:"rounded"`
}

func makeEquivalents(src *stored.Source) (*model.Sheet, error) {
	res, err := stored.Results(src)
	if err != nil {
		return nil, err
	}
	all, err := variance.Equivalents(res.Designs, res.Ratios)
	if err != nil {
		return nil, err
	}
	var rows []equivalentRow
	var places []model.Place
	for _, e := range all {
		rows = append(rows, equivalentRow{e.Benchmark, e.Model, e.NTasks, e.Budget, e.VarianceRatio, e.Worth.Value, e.Worth.SE, e.Rounded})
		p := place(e.Ratio)
		p.Cells = []table.Cell{table.Number(e.Worth.Value)}
		places = append(places, p)
	}
	s := model.NewSheet("Rollouts per task with which Uniform would have the variance of HBN, b/r with the replayed variance ratio r, "+
		"on every profile and by the average budget b of HBN.", rows)
	s.SideBySide(profileLead, func(b int32) []table.Column {
		return []table.Column{{Head: model.BudgetHead(b), Format: table.Format{Decimals: 2}}}
	}, places)
	return s, nil
}
