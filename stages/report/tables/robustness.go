package tables

import (
	"fmt"
	"math"
	"strconv"

	"speceval/internal/agreement"
	"speceval/internal/paper"
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Robustness counts the profiles on which HBN gains, and names the worst one, by
// budget (paper, appendix on profile robustness).
var Robustness = &model.Table{
	Base: paper.Robustness, Section: paper.Robustness, Label: "tab:profile-robustness",
	Reads:   stored.Reads{Units: []dag.Ref{stored.RatiosRef}, Paper: true},
	Chapter: "Profiles, one by one",
	Remarks: []string{`A mean hides profiles that lose: <ref robustness> counts those that gain beyond noise, and names the worst.`},
	Make:    makeRobustness, Macros: robustnessMacros,
}

// printedProfile is a profile in print.
func printedProfile(r variance.Ratio) string { return r.Benchmark + ", " + model.ModelName(r.Model) }

func makeRobustness(src *stored.Source) (*model.Sheet, error) {
	ratios, err := src.Ratios()
	if err != nil {
		return nil, err
	}
	numbers, err := src.Paper()
	if err != nil {
		return nil, err
	}
	rows := variance.Spreads(ratios)
	s := &model.Sheet{
		Rows: len(rows),
		Title: "Profiles on which HBN improves on Uniform: Monte Carlo estimate plus 1.96 standard errors " +
			"below one. The worst profile has the largest variance ratio, with its standard error.",
	}
	s.Key = func(i int) paper.Key { return paper.Key{Budget: rows[i].Budget} }
	s.Lack = func(int, paper.Key) string { return "" } // column by column
	s.Extra = func(e stored.Experiment) ([]agreement.Comparison, error) {
		return judgeEndpoints(e, ratios, numbers), nil
	}
	s.Add(model.BudgetRow(func(i int) int32 { return rows[i].Budget }))
	s.Add(gainColumns(src, rows, numbers)...)
	s.Add(worstColumns(src, rows, numbers)...)
	return s, nil
}

// gainColumns count the profiles and those that gain, which stand in one column in
// print.
func gainColumns(src *stored.Source, rows []variance.Spread, numbers *paper.Numbers) []model.Column {
	profiles := func(key paper.Key) (v float64, ok bool) {
		_, ok = numbers.At(paper.Robustness, "profiles_gaining", key)
		return numbers.Number(paper.Corpus, "profiles"), ok
	}
	return []model.Column{
		{Name: "profiles", Words: "The number of profiles on which HBN was replayed at this budget. Of the hbn rows in replay/ratios.parquet.",
			Cell: model.Counts(func(i int) int { return len(rows[i].Ratios) }),
			Rule: &model.Rule{Where: "Appendix C.1", Want: profiles, Unjudged: true}},
		{Name: "profiles_gaining", Head: table.Head{Plain: "Profiles gaining"}, Paired: true,
			Words: "On how many profiles HBN gains beyond its Monte Carlo error: r_j + 1.96·s_j < 1, s_j the standard error of the replay (Appendix C.1). " +
				"Of the hbn rows in replay/ratios.parquet.",
			Cell:  model.Counts(func(i int) int { return rows[i].Gaining }),
			Shown: func(i int) table.Cell { return table.Text(fmt.Sprintf("%d/%d", rows[i].Gaining, len(rows[i].Ratios))) },
			Rule: &model.Rule{Where: "Appendix C.1", Class: agreement.Computed,
				Printed: func(key paper.Key) table.Cell {
					of, ok := profiles(key)
					if !ok {
						return table.Missing()
					}
					n, _ := numbers.At(paper.Robustness, "profiles_gaining", key)
					return table.Text(fmt.Sprintf("%.0f/%.0f", n, of))
				},
				Judge: func(i int, want float64) agreement.Comparison { return judgeGaining(src, rows, i, int(want)) }}},
	}
}

// worstColumns are the worst profile with its ratio. The paper names one only where
// it is worse than Uniform.
func worstColumns(src *stored.Source, rows []variance.Spread, numbers *paper.Numbers) []model.Column {
	group := table.Head{Plain: "Worst profile"}
	three := table.Format{Decimals: 3}
	adverse := func(key paper.Key) (ratio float64, ok bool) {
		switch key.Budget {
		case 16:
			return numbers.Number(paper.Robustness, "adverse_ratio_b16"), true
		case 32:
			return numbers.Number(paper.Robustness, "adverse_ratio_b32"), true
		}
		return 0, false
	}
	theirs := func(key paper.Key) table.Cell {
		if v, ok := adverse(key); ok {
			return table.Number(v)
		}
		return table.Missing()
	}
	judged := func(i int, ratio float64) (worst, value agreement.Comparison) {
		return judgeAdverse(src, rows, i, numbers.Name(paper.Robustness, "adverse_profile"), ratio)
	}
	columns := []model.Column{
		{Name: "worst_profile", Head: table.Head{Plain: "name"}, Group: group, Align: table.Left,
			Words: "The profile with the largest variance ratio of HBN at this budget. Of the hbn rows in replay/ratios.parquet.",
			Cell:  func(i int) table.Cell { return table.Text(rows[i].Worst.Profile()) },
			Shown: func(i int) table.Cell { return table.Text(printedProfile(rows[i].Worst)) },
			Rule: &model.Rule{Where: "Appendix C.1", Class: agreement.Computed, Want: adverse,
				Cell: func(key paper.Key) table.Cell {
					if _, ok := adverse(key); ok {
						return table.Text(numbers.Name(paper.Robustness, "adverse_profile"))
					}
					return table.Missing()
				},
				Judge: func(i int, want float64) agreement.Comparison { worst, _ := judged(i, want); return worst }}},
		{Name: "worst_ratio", Head: table.Head{Plain: "ratio"}, Group: group, Format: three,
			Words: "HBN's variance ratio on the worst profile: " + ratioForm + ". The largest of the hbn rows in replay/ratios.parquet.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].Worst.VarianceRatio }),
			Rule: &model.Rule{Where: "Appendix C.1", Class: agreement.Computed, Decimals: 3, Want: adverse,
				Judge: func(i int, want float64) agreement.Comparison { _, value := judged(i, want); return value }}},
		{Name: "worst_se", Role: model.Error, Of: "worst_ratio", Head: table.Head{Plain: "s.e."}, Group: group, Format: table.Format{Decimals: 4},
			Words: "The Monte Carlo standard error of worst_ratio over the pilot vectors replayed, given the design (m, w).",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].Worst.RatioSE })},
	}
	if numbers != nil {
		columns = append(columns, model.Column{Head: model.Theirs, Group: group, Format: three,
			Shown: func(i int) table.Cell { return theirs(paper.Key{Budget: rows[i].Budget}) }})
	}
	return columns
}

// noiseOf is the standard error of a ratio, by replay and design. That designs and
// ratios are of one run is for Table 1 to find.
func noiseOf(src *stored.Source, r variance.Ratio) float64 {
	res, _ := src.Results()
	se, _ := variance.TotalSE(res.Designs, r)
	return se
}

// judgeGaining compares the number of profiles that meet the criterion
// ratio + 1.96 s.e. < 1. A profile whose left-hand side is within 3 standard
// errors of a difference from 1 could fall on either side in another run; a
// count that such profiles explain agrees within noise.
func judgeGaining(src *stored.Source, rows []variance.Spread, i, want int) agreement.Comparison {
	if i < 0 {
		return agreement.Lacking(float64(want), 0, "not replayed")
	}
	var lost, won int // lost: gaining profiles that may not gain; won: the reverse
	for _, r := range rows[i].Ratios {
		margin := 1 - (r.VarianceRatio + variance.GainZ*r.RatioSE)
		switch open := math.Abs(margin) <= agreement.Sigmas*math.Sqrt2*noiseOf(src, r); {
		case open && variance.Gains(r):
			lost++
		case open:
			won++
		}
	}
	gaining := rows[i].Gaining
	c := agreement.Compare(exactly(float64(gaining)), float64(want), 0, 0)
	if c.Verdict == agreement.Differs && gaining-lost <= want && want <= gaining+won {
		c.Verdict = agreement.Within
		c.Note = fmt.Sprintf("%d profiles are too close to the criterion to call", lost+won)
	}
	return c
}

// judgeAdverse compares the worst profile at a budget, by name, and the ratio
// of the paper's worst.
func judgeAdverse(src *stored.Source, rows []variance.Spread, i int, profile string, want float64) (worst, value agreement.Comparison) {
	worst = agreement.Comparison{PaperName: profile, Verdict: agreement.Absent}
	value = agreement.Lacking(want, 3, "not replayed")
	if i < 0 {
		return worst, value
	}
	top := rows[i].Worst
	worst.ObtainedName, worst.Verdict = top.Profile(), agreement.Differs
	theirs, ok := variance.ProfileRatio(rows[i].Ratios, policy.HBN, profile, top.Budget)
	if !ok {
		return worst, value
	}
	se := noiseOf(src, theirs)
	value = agreement.Compare(agreement.Estimate{Value: theirs.VarianceRatio, SE: se}, want, 3, 0)
	if worst.ObtainedName == profile {
		worst.Verdict = agreement.Agrees
		return worst, value
	}
	loss := top.VarianceRatio - theirs.VarianceRatio
	return agreement.Choice(worst, loss, math.Hypot(se, noiseOf(src, top))).Noted(fmt.Sprintf("the paper's has a ratio %.4f lower", loss)), value
}

// judgeEndpoints compares the adverse profile's Oracle ratio, at the smallest
// budget at which the paper calls it adverse, and its tasks near the
// endpoints.
func judgeEndpoints(e stored.Experiment, ratios []variance.Ratio, numbers *paper.Numbers) (cells []agreement.Comparison) {
	profile := numbers.Name(paper.Robustness, "adverse_profile")
	if at := (paper.Key{Budget: 16}); e.Has(at.Budget) {
		want := numbers.Number(paper.Robustness, "adverse_oracle_ratio")
		c := agreement.Lacking(want, 3, "not replayed")
		if r, ok := variance.ProfileRatio(ratios, policy.Oracle, profile, at.Budget); ok {
			c = agreement.Compare(exactly(r.VarianceRatio), want, 3, 0)
		}
		cells = append(cells, c.As(agreement.Computed).In(paper.Robustness, at.Label(), "adverse_oracle_ratio"))
	}
	want := numbers.Number(paper.Robustness, "adverse_outside_02_08")
	c := agreement.Lacking(want, 0, "no such profile")
	if p := e.Find(profile); p != nil {
		c = agreement.Compare(exactly(float64(p.Outside)), want, 0, 0)
	}
	return append(cells, c.As(agreement.Computed).In(paper.Robustness, "all", "adverse_outside_02_08"))
}

// robustnessMacros are the counts and the worst profile at every budget.
func robustnessMacros(src *stored.Source) (all []model.Macro, err error) {
	ratios, err := src.Ratios()
	for _, s := range variance.Spreads(ratios) {
		all = append(all,
			macroOf("Profiles", s.Budget, strconv.Itoa(len(s.Ratios))),
			macroOf("ProfilesGaining", s.Budget, strconv.Itoa(s.Gaining)),
			macroOf("WorstProfile", s.Budget, printedProfile(s.Worst)),
			macroOf("WorstRatio", s.Budget, fixed(s.Worst.VarianceRatio, 3)))
	}
	return all, err
}
