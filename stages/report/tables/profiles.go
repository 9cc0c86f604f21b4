package tables

import (
	"slices"

	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Profiles is every replayed ratio, as stored, in CSV; in print, HBN beside the
// Oracle on every profile.
var Profiles = &model.Table{
	Base: "profile_ratios", Label: "tab:profile-ratios",
	Reads:   stored.Reads{Units: []dag.Ref{stored.RatiosRef}},
	Chapter: "Profiles, one by one",
	Remarks: []string{`<ref profile_ratios> has HBN and the Oracle on every profile, at every budget.`},
	Make:    makeProfiles,
}

func makeProfiles(src *stored.Source) (*model.Sheet, error) {
	rows, err := src.Ratios()
	if err != nil {
		return nil, err
	}
	s := &model.Sheet{
		Rows:    len(rows),
		Title:   "Uniform-normalized variance of HBN and of the Oracle on every profile, by average budget b.",
		Caption: `Uniform-normalized variance of HBN and of the Oracle on every profile, by average budget~$b$.`,
	}
	s.Add(profileKeys(func(i int) variance.Ratio { return rows[i] })...)
	s.Add(model.StoredPolicyKeys(model.PolicyWords, func(i int) policy.Key { return rows[i].Key() })...)
	s.Add(
		model.Column{Name: "alpha", Words: "The prior strength: of IBN and TS-Neyman, which have one.",
			Cell: func(i int) table.Cell { return table.Optional(rows[i].Alpha) }},
		model.Column{Name: "m", Words: "The pilot size «m», rollouts of every task before the allocation (Section 2), or the warm start «m_0» of TS-Neyman; the Oracle has none.",
			Cell: func(i int) table.Cell {
				if rows[i].M == nil {
					return table.Missing()
				}
				return table.Integer(*rows[i].M)
			}},
		model.Column{Name: "w", Words: "The stage weight «w» of the pilot in the estimate (Eq. 4); none for the Oracle and TS-Neyman.",
			Cell: func(i int) table.Cell { return table.Optional(rows[i].W) }},
		model.Column{Name: "variance_ratio",
			Words: "The variance of the policy over that of Uniform on this profile: " + ratioForm + ", the expectation over the pilot vectors drawn. " +
				"The Oracle's, «b·Σ(v_i/n*_i)/Σ v_i¦b\\sum_i(v_i/n_i^*)/\\sum_i v_i» with the integer allocation of Eq. 2, is exact; TS-Neyman's is a mean squared error over trajectories (Appendix C.3). A row of ‹replay/ratios.parquet›.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].VarianceRatio }),
			Break: func(i int) (model.Breakdown, error) { return ratioBreakdown(src, rows[i], 1) }},
		errorColumn("ratio_se", "variance_ratio",
			"The Monte Carlo standard error of variance_ratio: «b(1−w)²·sd(C)/√draws¦b(1-w)^2\\,\\mathrm{sd}(C)/\\sqrt{\\mathrm{draws}}», "+
				"with the spread of the continuation «C = Σ(v_i/L_i)/Σ v_i¦C=\\sum_i(v_i/L_i)/\\sum_i v_i» over the pilot vectors and the design «(m, w)¦(m,w)» given; 0 where the ratio is exact.",
			func(i int) float64 { return rows[i].RatioSE }),
		model.Column{Name: "draws", Role: model.Count, Words: "The pilot vectors, or trajectories, that the ratio was replayed on; 0 where it is exact (Appendix B.4).",
			Cell: model.Counts(func(i int) int32 { return rows[i].Draws })})
	shown := []*policy.Policy{policy.HBN, policy.Oracle}
	s.Layout = perProfile(rows, func(b int32) (columns []table.Column) {
		for _, p := range shown {
			columns = append(columns, table.Column{Head: table.Head{Plain: p.Label}, Group: model.BudgetHead(b), Format: table.Format{Decimals: 3}})
		}
		return columns
	}, func(i int) (int, table.Cell) {
		return slices.IndexFunc(shown, func(p *policy.Policy) bool { return p.Key() == rows[i].Key() }), table.Number(rows[i].VarianceRatio)
	})
	return s, nil
}

// ratioBreakdown is the two stages of a ratio, and its errors by cause times slope.
func ratioBreakdown(src *stored.Source, r variance.Ratio, slope float64) (d model.Breakdown, err error) {
	if r.M != nil && r.W != nil {
		b := float64(r.Budget)
		pilot := b * *r.W * *r.W / float64(*r.M)
		d.Parts = model.Added("stages", []string{"variance of the stage over Uniform's", "rollouts per task", "stage weight"}, []model.Part{
			model.Shared("pilot", pilot, pilot, float64(*r.M), *r.W),
			model.Shared("continuation", r.VarianceRatio-pilot, r.VarianceRatio-pilot, b-float64(*r.M), 1-*r.W)})
	}
	res, err := src.Results()
	if err != nil {
		return d, err
	}
	d.Errors, err = causesOf(src, res.Designs, []variance.Ratio{r}, []float64{slope})
	return d, err
}

// perProfile sets a row for every profile, in stored order, and columns for every
// budget. Of names the column, within its budget, that a row belongs to, negative
// if to none, and its cell.
func perProfile(rows []variance.Ratio, columns func(budget int32) []table.Column, of func(row int) (int, table.Cell)) func(*table.Table) {
	return func(t *table.Table) {
		t.Columns = []table.Column{
			{Head: table.Head{Plain: "Benchmark"}, Align: table.Left},
			{Head: table.Head{Plain: "Checkpoint"}, Align: table.Left},
			{Head: table.Head{Plain: "N", TeX: "$N$"}},
		}
		first := map[int32]int{} // columns, by budget
		for _, b := range variance.Budgets(rows) {
			first[b] = len(t.Columns)
			t.Columns = append(t.Columns, columns(b)...)
		}
		at := map[string]int{} // rows, by profile
		for i, r := range rows {
			name := r.Profile()
			if _, seen := at[name]; !seen {
				at[name] = len(t.Rows)
				row := make([]table.Cell, len(t.Columns))
				row[0], row[1], row[2] = table.Text(r.Benchmark), table.Text(model.ModelName(r.Model)), table.Integer(r.NTasks)
				t.Rows = append(t.Rows, row)
			}
			if j, cell := of(i); j >= 0 {
				t.Rows[at[name]][first[r.Budget]+j] = cell
			}
		}
	}
}
