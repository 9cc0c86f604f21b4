package tables

import (
	"fmt"
	"math"
	"strconv"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Robustness counts the profiles on which HBN gains, and names the worst one, by
// budget (paper, appendix on profile robustness).
var Robustness = &model.Table{
	Base: paper.Robustness, Where: "Appendix C.1", Label: "tab:profile-robustness",
	Reads:   stored.Reads{Units: []dag.Ref{stored.RatiosRef}, Paper: true},
	Chapter: "Profiles, one by one",
	Remarks: []string{`A mean hides profiles that lose: <ref robustness> counts those that gain beyond noise, and names the worst.`},
	Make:    makeRobustness, Macros: robustnessMacros,
	Words: `
profiles          The number of profiles on which HBN was replayed at this budget. Of the hbn rows in replay/ratios.parquet.
profiles_gaining  On how many profiles HBN gains beyond its Monte Carlo error: r_j + 1.96·s_j < 1, s_j the standard error of the replay (Appendix C.1). Of the hbn rows in
                  replay/ratios.parquet.
worst_profile     The profile with the largest variance ratio of HBN at this budget. Of the hbn rows in replay/ratios.parquet.
worst_ratio       HBN's variance ratio on the worst profile: <ratio>. The largest of the hbn rows in replay/ratios.parquet.
worst_se          The Monte Carlo standard error of worst_ratio over the pilot vectors replayed, given the design (m, w).
`,
}

type robustnessRow struct {
	Budget     model.RowBudget `csv:"budget" align:"left"`
	Profiles   int             `csv:"profiles" paper:"0"`
	Gaining    int             `csv:"profiles_gaining" paper:"0"`
	Share      string          `head:"Profiles gaining" paper:"0 paired"`
	Worst      string          `csv:"worst_profile" head:"name" group:"Worst profile" align:"left" paper:"0"`
	WorstRatio float64         `csv:"worst_ratio" head:"ratio" group:"Worst profile" format:".3" paper:"3"`
	WorstSE    float64         `csv:"worst_se" of:"worst_ratio" head:"s.e." group:"Worst profile" format:".4"`
}

func makeRobustness(src *stored.Source) (*model.Sheet, error) {
	ratios, err := stored.Ratios(src)
	if err != nil {
		return nil, err
	}
	numbers, _ := stored.Paper(src) // whose error the sheet finds as well
	all := variance.Spreads(ratios, policy.HBN)
	var rows []robustnessRow
	for _, r := range all {
		share := fmt.Sprintf("%d/%d", r.Gaining, len(r.Ratios))
		rows = append(rows, robustnessRow{model.RowBudget(r.Budget), len(r.Ratios), r.Gaining, share, r.Worst.Profile(), r.Worst.VarianceRatio, r.Worst.RatioSE})
	}
	s := model.NewSheet("Profiles on which HBN improves on Uniform: Monte Carlo estimate plus 1.96 standard errors "+
		"below one. The worst profile has the largest variance ratio, with its standard error.", rows)
	profiles, gaining, share, worst, ratio := s.Column("profiles"), s.Column("profiles_gaining"), s.Column(""), s.Column("worst_profile"), s.Column("worst_ratio")
	worst.Shown = func(i int) table.Cell {
		return table.Text(model.ProfileTitle(all[i].Worst.Benchmark, all[i].Worst.Model))
	}
	if numbers == nil {
		return s, nil
	}
	s.Absent = "not replayed"
	s.Extra = func(e stored.Experiment) []agreement.Comparison { return judgeEndpoints(e, ratios, numbers) }
	studied, name := numbers.Number(paper.Corpus, "profiles"), numbers.Name(paper.Robustness, "adverse_profile")
	profiles.Rule.Unjudged = true
	profiles.Rule.Cell = func(paper.Key) table.Cell { return table.Number(studied) }
	share.Rule.Cell = func(key paper.Key) table.Cell {
		n, _ := numbers.At(paper.Robustness, "profiles_gaining", key)
		return table.Text(fmt.Sprintf("%.0f/%.0f", n, studied))
	}
	gaining.Rule.Judge = func(i int, want float64) agreement.Comparison { return judgeGaining(src, all[i], int(want)) }

	// the paper names the worst profile only where it is worse than Uniform
	ratio.Rule.Cell = func(key paper.Key) table.Cell {
		if key.Budget != 16 && key.Budget != 32 {
			return table.Missing()
		}
		return table.Number(numbers.Number(paper.Robustness, fmt.Sprintf("adverse_ratio_b%d", key.Budget)))
	}
	worst.Rule.Cell = func(key paper.Key) table.Cell {
		if ratio.Rule.Cell(key).IsMissing() {
			return table.Missing()
		}
		return table.Text(name)
	}
	worst.Rule.Judge = func(i int, _ float64) agreement.Comparison { return judgeWorst(src, all[i], name) }
	ratio.Rule.Judge = func(i int, want float64) agreement.Comparison {
		if theirs, ok := variance.ProfileRatio(all[i].Ratios, policy.HBN, name, all[i].Budget); ok {
			return agreement.Compare(agreement.Estimate{Value: theirs.VarianceRatio, SE: noiseOf(src, theirs)}, want, 3, 0)
		}
		return agreement.Lacking(want, 3, "not replayed")
	}
	s.Add(model.Column{Head: model.Theirs, Group: ratio.Group, Format: ratio.Format, Shown: func(i int) table.Cell { return ratio.Rule.Cell(s.Key(i)) }})
	return s, nil
}

// noiseOf is the standard error of a ratio, by replay and design. That designs and
// ratios are of one run is for Table 1 to find.
func noiseOf(src *stored.Source, r variance.Ratio) float64 {
	res, _ := stored.Results(src)
	se, _ := variance.TotalSE(res.Designs, r)
	return se
}

// judgeGaining compares the number of profiles that meet the criterion
// ratio + 1.96 s.e. < 1. A profile whose left-hand side is within 3 standard
// errors of a difference from 1 could fall on either side in another run; a
// count that such profiles explain agrees within noise.
func judgeGaining(src *stored.Source, row variance.Standing, want int) agreement.Comparison {
	var lost, won int // lost: gaining profiles that may not gain; won: the reverse
	for _, r := range row.Ratios {
		margin := 1 - (r.VarianceRatio + variance.GainZ*r.RatioSE)
		switch open := math.Abs(margin) <= agreement.Sigmas*math.Sqrt2*noiseOf(src, r); {
		case open && variance.Gains(r):
			lost++
		case open:
			won++
		}
	}
	c := agreement.Compare(exactly(float64(row.Gaining)), float64(want), 0, 0)
	if c.Verdict == agreement.Differs && row.Gaining-lost <= want && want <= row.Gaining+won {
		c.Verdict = agreement.Within
		c.Note = fmt.Sprintf("%d profiles are too close to the criterion to call", lost+won)
	}
	return c
}

// judgeWorst compares the worst profile at a budget with the paper's, by name.
func judgeWorst(src *stored.Source, row variance.Standing, profile string) agreement.Comparison {
	top := row.Worst
	c := agreement.Comparison{PaperName: profile, ObtainedName: top.Profile(), Verdict: agreement.Differs}
	theirs, ok := variance.ProfileRatio(row.Ratios, policy.HBN, profile, row.Budget)
	switch {
	case c.ObtainedName == profile:
		c.Verdict = agreement.Agrees
		return c
	case !ok:
		return c
	}
	loss := top.VarianceRatio - theirs.VarianceRatio
	return agreement.Choice(c, loss, math.Hypot(noiseOf(src, theirs), noiseOf(src, top))).Noted(fmt.Sprintf("the paper's has a ratio %.4f lower", loss))
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
		cells = append(cells, c.In(paper.Robustness, at.Label(), "adverse_oracle_ratio"))
	}
	want := numbers.Number(paper.Robustness, "adverse_outside_02_08")
	c := agreement.Lacking(want, 0, "no such profile")
	if p := e.Find(profile); p != nil {
		c = agreement.Compare(exactly(float64(p.Outside)), want, 0, 0)
	}
	return append(cells, c.In(paper.Robustness, "all", "adverse_outside_02_08"))
}

// robustnessMacros are the counts and the worst profile at every budget.
func robustnessMacros(src *stored.Source) (all []model.Macro, err error) {
	ratios, err := stored.Ratios(src)
	for _, s := range variance.Spreads(ratios, policy.HBN) {
		all = append(all,
			macroOf("Profiles", s.Budget, strconv.Itoa(len(s.Ratios))),
			macroOf("ProfilesGaining", s.Budget, strconv.Itoa(s.Gaining)),
			macroOf("WorstProfile", s.Budget, model.ProfileTitle(s.Worst.Benchmark, s.Worst.Model)),
			macroOf("WorstRatio", s.Budget, fixed(s.Worst.VarianceRatio, 3)))
	}
	return all, err
}
