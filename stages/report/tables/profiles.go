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

// Profiles is every replayed ratio, as stored, in CSV; in print, HBN next to the
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
		Rows:  len(rows),
		Title: "Uniform-normalized variance of HBN and of the Oracle on every profile, by average budget b.",
	}
	s.Add(profileKeys(func(i int) variance.Ratio { return rows[i] })...)
	s.Add(model.StoredPolicyKeys(model.PolicyWords, func(i int) policy.Key { return rows[i].Key() })...)
	s.Add(
		model.Column{Name: "alpha", Words: "The prior strength: of IBN and TS-Neyman, which have one.",
			Cell: func(i int) table.Cell { return table.Optional(rows[i].Alpha) }},
		model.Column{Name: "m", Words: "The pilot size m, rollouts of every task before the allocation (Section 2), or the warm start m_0 of TS-Neyman; the Oracle has none.",
			Cell: func(i int) table.Cell {
				if rows[i].M == nil {
					return table.Missing()
				}
				return table.Integer(*rows[i].M)
			}},
		model.Column{Name: "w", Words: "The stage weight w of the pilot in the estimate (Eq. 4); none for the Oracle and TS-Neyman.",
			Cell: func(i int) table.Cell { return table.Optional(rows[i].W) }},
		model.Column{Name: "variance_ratio",
			Words: "The variance of the policy over that of Uniform on this profile: " + ratioForm + ", the expectation over the pilot vectors drawn. " +
				"The Oracle's, b·Σ(v_i/n*_i)/Σ v_i with the integer allocation of Eq. 2, is exact; TS-Neyman's is a mean squared error over trajectories (Appendix C.3). A row of replay/ratios.parquet.",
			Cell: model.Numbers(func(i int) float64 { return rows[i].VarianceRatio })},
		errorColumn("ratio_se", "variance_ratio",
			"The Monte Carlo standard error of variance_ratio: b(1−w)²·sd(C)/√draws, "+
				"with the spread of the continuation C = Σ(v_i/L_i)/Σ v_i over the pilot vectors and the design (m, w) given; 0 where the ratio is exact.",
			func(i int) float64 { return rows[i].RatioSE }),
		model.Column{Name: "draws", Words: "The pilot vectors, or trajectories, that the ratio was replayed on; 0 where it is exact (Appendix B.4).",
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

// Paired holds every policy against HBN, profile by profile, with the errors that
// common draws leave. It is not in the paper.
var Paired = &model.Table{
	Base: "paired_differences", Label: "tab:paired-differences",
	Reads:   stored.Reads{Units: []dag.Ref{stored.RatiosRef, stored.PairedRef}},
	Chapter: "How sure these numbers are",
	Remarks: []string{`Policies are replayed on the same draws where they can be, so that their differences are known better than each alone: <ref paired_differences>.`},
	Make:    makePaired, Macros: rivalMacros,
}

// pairedRows are the rows of the table.
func pairedRows(src *stored.Source) ([]variance.PairedRow, error) {
	ratios, err := src.Ratios()
	if err != nil {
		return nil, err
	}
	differences, err := src.Differences()
	if err != nil {
		return nil, err
	}
	return variance.PairedRows(ratios, differences)
}

func makePaired(src *stored.Source) (*model.Sheet, error) {
	rows, err := pairedRows(src)
	if err != nil {
		return nil, err
	}
	s := &model.Sheet{
		Rows: len(rows),
		Title: "Variance of other policies minus that of HBN, over Uniform's: the mean over profiles, its 95% interval over resampled benchmarks, " +
			"its Monte Carlo standard error from the draws that both policies share, and the error that draws of their own would leave. " +
			"HBN lower (better), HBN higher (worse): profiles on which it is so by 1.96 standard errors.",
	}
	s.Heading = model.ByBudgets(func(i int) int32 { return rows[i].Budget })
	group := table.Head{Plain: "Standard error (points)"}
	const file = variance.DifferencesFile
	difference := func(e variance.PairedEntry) float64 { return e.Difference.Difference }
	paired := func(e variance.PairedEntry) float64 { return e.DifferenceSE }
	s.Add(model.BudgetKey(func(i int) int32 { return rows[i].Budget }))
	s.Add(model.PolicyKeys("The policy that HBN is held against.", func(i int) *policy.Policy { return rows[i].Policy })...)
	s.Add(
		model.Column{Name: "difference", Head: table.Head{Plain: "Difference (points)"}, Format: table.Format{Decimals: 2, Scale: 100, Signed: true},
			Words: "By how much the policy's variance ratio is above HBN's: (1/J)·Σ_j (r_j − r_j^HBN); above 0 HBN has the lower variance. Of " + file + ".",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].Mean(difference) })},
		model.Column{Head: table.Head{Plain: "95% interval"}, Shown: func(i int) table.Cell { return printedInterval(rows[i].Between) }},
		model.Column{Name: "difference_se", Role: model.Error, Of: "difference", Head: table.Head{Plain: "paired"}, Group: group, Format: points3,
			Words: "Its Monte Carlo standard error, (1/J)·√(Σ_j e_j²), with the error e_j of each difference over the pilot vectors that both policies were replayed on, given both designs. Of " + file + "; of TS-Neyman, which has draws of its own, the same as independent_se.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].RMS(paired) })},
		model.Column{Name: "independent_se", Head: table.Head{Plain: "unpaired"}, Group: group, Format: points3,
			Words: "What the error would be if the two were replayed on draws of their own: (1/J)·√(Σ_j (s_j² + s_j,HBN²)), with ratio_se of replay/ratios.parquet.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].IndependentSE() })},
		countColumn(rows, "profiles_better", "HBN lower", "On how many profiles HBN has the lower ratio beyond noise: a difference above 1.96 of its standard errors.",
			func(r variance.PairedRow) int { return r.Beyond(1) }),
		countColumn(rows, "profiles_worse", "HBN higher", "On how many profiles HBN has the higher ratio beyond noise: a difference below −1.96 of its standard errors.",
			func(r variance.PairedRow) int { return r.Beyond(-1) }),
		countColumn(rows, "profiles", "Profiles", "The number of profiles that both policies were replayed on at this budget.",
			func(r variance.PairedRow) int { return len(r.Entries) }),
		differenceBound(rows, "difference_low", func(b *variance.Interval) *float64 { return &b.Low }),
		differenceBound(rows, "difference_high", func(b *variance.Interval) *float64 { return &b.High }),
		countColumn(rows, "profiles_lower", "", "On how many profiles HBN has the lower ratio, by however little: a difference above 0.",
			variance.PairedRow.Lower))
	for _, r := range rivals(rows) {
		s.Notes = append(s.Notes, r.policy.Label+" − HBN: the interval "+r.interval()+".", "There "+r.profiles()+".")
	}
	return s, nil
}

// countColumn counts profiles by their differences.
func countColumn(rows []variance.PairedRow, name, head, words string, count func(variance.PairedRow) int) model.Column {
	return model.Column{Name: name, Head: table.Head{Plain: head}, Words: words,
		Cell: model.Counts(func(i int) int { return count(rows[i]) })}
}
