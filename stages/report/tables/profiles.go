package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

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

// mean is a mean over profiles, which can be taken apart.
type mean struct {
	variance.Mean
	source *stored.Source
}

// breakdown is the profiles of the mean, and its errors by cause.
func (m mean) breakdown() (d model.Breakdown, err error) {
	var parts []model.Part
	for _, r := range m.Ratios {
		parts = append(parts, model.Shared(r.Profile(), r.VarianceRatio/float64(len(m.Ratios)), r.VarianceRatio, r.RatioSE, float64(r.NTasks)))
	}
	d.Parts = model.Added("profiles", []string{"variance_ratio", "ratio_se", "n_tasks"}, parts)
	d.Errors, err = m.causes(m.Weights())
	return d, err
}

// errorBreakdown is the shares of replays and designs in the error of the mean.
func (m mean) errorBreakdown() (d model.Breakdown, err error) {
	more, err := m.designParts()
	if err != nil {
		return d, err
	}
	d.Parts = model.Squared("replays and designs", errorColumns, append(m.replayParts(), more...))
	return d, nil
}

// errorColumns are the numbers of a part of an error.
var errorColumns = []string{"s.e. of the mean from it"}

// replayParts are the profiles' shares in the Monte Carlo error.
func (m mean) replayParts() (parts []model.Part) {
	for _, r := range m.Ratios {
		s := r.RatioSE / float64(len(m.Ratios))
		parts = append(parts, model.Shared("replay of "+r.Profile(), s*s, s))
	}
	return parts
}

// designParts are the designs' shares in it, by task count.
func (m mean) designParts() (parts []model.Part, err error) {
	e, err := variance.SumErrors(m.Designs, m.Ratios, m.Weights())
	for _, s := range e.Slopes {
		parts = append(parts, model.Shared(fmt.Sprintf("design of N=%d", s.NTasks), s.Change*s.Change, math.Abs(s.Change)))
	}
	return parts, err
}

// causes are the errors of Σ g_j·ratio_j by cause.
func (m mean) causes(weights []float64) ([]model.ErrorOf, error) {
	return causesOf(m.source, m.Designs, m.Ratios, weights)
}

// causesOf are the errors of Σ g_j·ratio_j by cause, for ratios of one policy at
// one budget.
func causesOf(src *stored.Source, designs variance.Schedules, ratios []variance.Ratio, weights []float64) ([]model.ErrorOf, error) {
	redrawn, err := src.ProfileErrors()
	if err != nil {
		return nil, err
	}
	c, err := variance.NewCauses(designs, redrawn, ratios, weights)
	if err != nil {
		return nil, err
	}
	about := "exact: nothing is drawn"
	if draws := ratios[0].Draws; draws > 0 {
		about = fmt.Sprintf("%d draws on a profile, independent between profiles", draws)
	}
	errors := []model.ErrorOf{
		{Cause: model.ReplayCause, SE: &c.Replay, About: about},
		{Cause: model.DesignCause, SE: &c.Design, About: "of the stage weight, which profiles of one task count share"},
		{Cause: model.ProfilesCause, About: fmt.Sprintf("not known: not all are in %s (`speceval run replay`)", variance.ErrorsFile)},
	}
	if ratios[0].W == nil {
		errors[1].About = "none: the policy has no estimated stage weight"
	}
	if p := c.Profiles; p != nil {
		errors[2].SE = &p.SE
		errors[2].About = fmt.Sprintf("each profile redrawn %d times; they move the number by %+.2g ± %.2g", p.Resamples, p.Shift, p.ShiftSE)
	}
	return errors, nil
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
	const errors = ": the mean over profiles, its 95% interval over resampled benchmarks, its Monte Carlo standard error from the draws that both policies share, " +
		"and the error that draws of their own would leave. "
	s := &model.Sheet{
		Rows:    len(rows),
		Title:   "Variance of other policies minus that of HBN, over Uniform's" + errors + "Better, worse: profiles on which HBN's is lower or higher by 1.96 standard errors.",
		Caption: "Variance of other policies minus that of HBN, in percentage points of Uniform's" + strings.ReplaceAll(errors, "%", `\%`) + "HBN lower, HBN higher: profiles on which it is so by 1.96 standard errors.",
	}
	s.Heading = model.ByBudgets(func(i int) int32 { return rows[i].Budget })
	group := table.Head{Plain: "Standard error"}
	const file = variance.DifferencesFile
	difference := func(e variance.PairedEntry) float64 { return e.Difference.Difference }
	paired := func(e variance.PairedEntry) float64 { return e.DifferenceSE }
	s.Add(model.BudgetKey(func(i int) int32 { return rows[i].Budget }))
	s.Add(model.PolicyKeys("The policy that HBN is held against.", func(i int) *policy.Policy { return rows[i].Policy })...)
	s.Add(
		model.Column{Name: "difference", Head: table.Head{Plain: "Difference"}, Format: table.Format{Decimals: 2, Scale: 100, Signed: true},
			Words: "By how much the policy's variance ratio is above HBN's: «(1/J)·Σ_j (r_j − r_j^HBN)¦J^{-1}\\sum_j(r_j-r_j^{\\mathrm{HBN}})»; above 0 HBN has the lower variance. Of ‹" + file + "›.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].Mean(difference) }),
			Break: func(i int) (d model.Breakdown, err error) {
				r := rows[i]
				d.Parts = model.Added("profiles", []string{"difference", "difference_se", r.Policy.Key().String(), policy.HBN.Name}, pairedParts(r, func(e variance.PairedEntry) model.Part {
					return model.Shared("", difference(e)/float64(len(r.Entries)), difference(e), paired(e), e.Other.VarianceRatio, e.HBN.VarianceRatio)
				}))
				se := r.RMS(paired)
				about := fmt.Sprintf("%d draws on a profile that both policies share, given both designs", r.Entries[0].Draws)
				if r.Apart {
					about = "each policy has draws of its own"
				}
				d.Errors = []model.ErrorOf{{Cause: model.ReplayCause, SE: &se, About: about}}
				return d, nil
			}},
		model.Column{Head: table.Head{Plain: "95% interval"}, Shown: func(i int) table.Cell { return printedInterval(rows[i].Between) }},
		model.Column{Name: "difference_se", Role: model.Error, Of: "difference", Head: table.Head{Plain: "paired"}, Group: group, Format: points3,
			Words: "Its Monte Carlo standard error, «(1/J)·√(Σ_j e_j²)¦J^{-1}(\\sum_j e_j^2)^{1/2}», with the error «e_j» of each difference over the pilot vectors that both policies were replayed on, given both designs. Of ‹" + file + "›; of TS-Neyman, which has draws of its own, the same as independent_se.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].RMS(paired) }),
			Break: func(i int) (model.Breakdown, error) {
				return pairedSquares(rows[i], paired, []string{errorColumns[0], "difference_se on it"}, func(e variance.PairedEntry) []float64 { return []float64{e.DifferenceSE} })
			}},
		model.Column{Name: "independent_se", Role: model.Cause, Of: "difference", Head: table.Head{Plain: "unpaired"}, Group: group, Format: points3,
			Words: "What the error would be if the two were replayed on draws of their own: «(1/J)·√(Σ_j (s_j² + s_j,HBN²))¦J^{-1}\\bigl(\\sum_j(s_j^2+s_{j,\\mathrm{HBN}}^2)\\bigr)^{1/2}», with ratio_se of ‹replay/ratios.parquet›.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].IndependentSE() }),
			Break: func(i int) (model.Breakdown, error) {
				return pairedSquares(rows[i], variance.PairedEntry.Independent, []string{errorColumns[0], "ratio_se", "ratio_se of hbn"}, func(e variance.PairedEntry) []float64 { return []float64{e.Other.RatioSE, e.HBN.RatioSE} })
			}},
		countColumn(rows, "profiles_better", "HBN lower", "On how many profiles HBN has the lower ratio beyond noise: a difference above 1.96 of its standard errors.",
			func(r variance.PairedRow) int { return r.Beyond(1) }, fmt.Sprintf("those above %g are counted", variance.GainZ), true),
		countColumn(rows, "profiles_worse", "HBN higher", "On how many profiles HBN has the higher ratio beyond noise: a difference below −1.96 of its standard errors.",
			func(r variance.PairedRow) int { return r.Beyond(-1) }, fmt.Sprintf("those below −%g are counted", variance.GainZ), false),
		countColumn(rows, "profiles", "Profiles", "The number of profiles that both policies were replayed on at this budget.",
			func(r variance.PairedRow) int { return len(r.Entries) }, "all are counted", true),
		differenceBound(rows, "difference_low", func(b *variance.Interval) *float64 { return &b.Low }),
		differenceBound(rows, "difference_high", func(b *variance.Interval) *float64 { return &b.High }),
		countColumn(rows, "profiles_lower", "", "On how many profiles HBN has the lower ratio, by however little: a difference above 0.",
			variance.PairedRow.Lower, "those above 0 are counted", true))
	for _, r := range rivals(rows) {
		s.Notes = append(s.Notes, r.policy.Label+" − HBN: the interval "+r.interval()+".", "There "+r.profiles()+".")
	}
	return s, nil
}

// pairedParts are the profiles of the row.
func pairedParts(r variance.PairedRow, of func(variance.PairedEntry) model.Part) (parts []model.Part) {
	for _, e := range r.Entries {
		p := of(e)
		p.Name = e.Other.Profile()
		parts = append(parts, p)
	}
	return parts
}

// pairedSquares are the profiles of an error, each with its share and further numbers.
func pairedSquares(r variance.PairedRow, of func(variance.PairedEntry) float64, columns []string, more func(variance.PairedEntry) []float64) (d model.Breakdown, err error) {
	d.Parts = model.Squared("profiles", columns, pairedParts(r, func(e variance.PairedEntry) model.Part {
		s := of(e) / float64(len(r.Entries))
		return model.Shared("", s*s, append([]float64{s}, more(e)...)...)
	}))
	return d, nil
}

// countColumn counts profiles by their differences.
func countColumn(rows []variance.PairedRow, name, head, words string, count func(variance.PairedRow) int, how string, greatest bool) model.Column {
	return model.Column{Name: name, Role: model.Count, Head: table.Head{Plain: head}, Words: words,
		Cell: model.Counts(func(i int) int { return count(rows[i]) }),
		Break: func(i int) (d model.Breakdown, err error) {
			d.Parts = model.Ranked("profiles", how, []string{"difference in s.e.", "difference", "difference_se"}, pairedParts(rows[i], func(e variance.PairedEntry) model.Part {
				return model.Option("", e.InErrors(), e.Difference.Difference, e.DifferenceSE)
			}), greatest)
			if count(rows[i]) == len(rows[i].Entries) {
				d.Parts.Makes(float64(len(rows[i].Entries)))
			}
			return d, nil
		}}
}
