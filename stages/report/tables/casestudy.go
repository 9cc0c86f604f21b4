package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// CaseStudy is the numbers that the paper's text and the caption of Figure 2 give
// of its case study. It is no file: its numbers are compared, and quoted.
var CaseStudy = &model.Table{
	Base:  paper.CaseStudy,
	Reads: stored.Reads{Units: []dag.Ref{stored.RatiosRef}, Case: true, Paper: true},
	Make:  makeCase, Macros: caseMacros,
}

// PaperCase is the profile that the paper's case study is of.
const PaperCase = "aime24__model=qwen3_5_4b"

// makeCase compares the case study, and holds the simulated evaluations against the
// formulas. There are no comparisons where another profile is studied.
func makeCase(src *stored.Source) (*model.Sheet, error) {
	c, err := stored.Case(src)
	designs, noDesigns := stored.Designs(src)
	s := &model.Sheet{}
	s.Extra = func(e stored.Experiment) []agreement.Comparison {
		if c.N() == 0 || c.Name() != PaperCase {
			return nil
		}
		return caseJudge{c, s.Paper, src, designs}.cells(e)
	}
	return s, cmp.Or(err, noDesigns)
}

// caseJudge compares a case study.
type caseJudge struct {
	variance.Case
	numbers *paper.Numbers
	source  *stored.Source
	designs []variance.Design
}

func (j caseJudge) want(key string) float64 { return j.numbers.Number(paper.CaseStudy, key) }

func (j caseJudge) cells(e stored.Experiment) []agreement.Comparison {
	n := float64(j.N())
	fact := func(key string, v float64, decimals int) agreement.Comparison {
		return agreement.Compare(exactly(v), j.want(key), decimals, 0).In(paper.CaseStudy, "all", key)
	}
	cells := []agreement.Comparison{
		fact("share_below_02", float64(j.Below(0.2))/n, 3),
		fact("share_above_08", float64(j.Above(0.8))/n, 3),
		fact("endpoint_tasks", float64(j.Endpoints()), 0),
	}
	for _, b := range []int32{8, 32, 64} {
		if !e.Has(b) {
			continue
		}
		row := paper.Key{Budget: b}.Label()
		for _, p := range []*policy.Policy{policy.HBN, policy.Oracle} {
			c := agreement.Lacking(j.want(fmt.Sprintf("%s_ratio_b%d", p.Name, b)), 3, "not replayed")
			if r, ok := j.Ratio(p, b); ok {
				c = agreement.Compare(agreement.Estimate{Value: r.VarianceRatio, SE: noiseOf(j.source, r)}, *c.Paper, 3, 0)
			}
			cells = append(cells, c.In(paper.CaseStudy, row, p.Name+"_ratio"))
		}
		if b == 32 {
			half := agreement.Compare(exactly(100*j.HalfWidth(1, b)), j.want("halfwidth_uniform_b32_pp"), 2, 0)
			cells = append(cells, half.In(paper.CaseStudy, row, "uniform_halfwidth_pp"), j.weight(b).In(paper.CaseStudy, row, "hbn_w"))
		}
	}
	if e.Has(j.Budget) {
		cells = append(cells, j.evaluations()...)
	}
	return cells
}

// weight compares HBN's stage weight at a budget, as Table 5 does with one decimal
// less.
func (j caseJudge) weight(budget int32) agreement.Comparison {
	key := paper.Key{NTasks: int32(j.N()), Budget: budget}
	m, _ := j.numbers.At(paper.HBNSchedule, "m", key)
	selected := slices.IndexFunc(j.designs, func(d variance.Design) bool { return d.Policy == policy.HBN.Name && d.Selected && keyOf(d) == key })
	theirs := designAt(j.designs, policy.HBN, key, int32(m))
	if theirs.M == 0 || selected < 0 {
		return agreement.Lacking(j.want("w_b32"), 3, "no such design is stored")
	}
	_, w := judgePair(theirs, j.designs[selected], j.want("w_b32"), 3)
	return w
}

// evaluations holds the simulated evaluations of each policy against what the
// paper says of them: that they are centred, and spread as the variance formula
// says. What stands for the paper's number is zero, and the formula's.
func (j caseJudge) evaluations() (cells []agreement.Comparison) {
	for _, p := range policy.CaseStudy {
		row := paper.Key{Budget: j.Budget}.Label()
		bias, sd := agreement.Lacking(0, 4, "not simulated"), agreement.Comparison{Verdict: agreement.Absent, Note: "not simulated", Decimals: 4}
		if bins := j.Distribution(p); len(bins) > 0 {
			e := bins[0]
			note := fmt.Sprintf("in %s simulated evaluations", display.Thousands(e.Repetitions))
			bias = agreement.Exactly(float64(100*e.Mean)-float64(100*e.Truth), 0, 100*e.MeanSE).Noted("of the estimates, " + note)
			sd = agreement.Exactly(100*e.SD, 100*e.Expected, 100*j.SpreadSE(p, e)).Noted("against the formula's, " + note)
		}
		cells = append(cells, bias.In(paper.CaseStudy, row, p.Name+"_bias_pp"), sd.In(paper.CaseStudy, row, p.Name+"_sd_pp"))
	}
	return cells
}

// caseMacros are the numbers of the case study: \specCaseHBNRatioBThreeTwo is HBN's
// variance ratio at b = 32. There are none without a case study.
func caseMacros(src *stored.Source) (all []model.Macro, err error) {
	c, err := stored.Case(src)
	if err != nil || c.N() == 0 {
		return nil, err
	}
	add := func(name, value string) { all = append(all, model.Macro{Name: "specCase" + name, Value: value}) }
	share := func(n int) string { return fixed(100*float64(n)/float64(c.N()), 1) + "%" }
	add("Tasks", strconv.Itoa(c.N()))
	add("ShareBelow", share(c.Below(0.2)))
	add("ShareAbove", share(c.Above(0.8)))
	add("Endpoints", strconv.Itoa(c.Endpoints()))
	for _, b := range variance.Budgets(c.Ratios) {
		for _, p := range policy.CaseStudy {
			r, ok := c.Ratio(p, b)
			if !ok {
				continue
			}
			if p != policy.Uniform {
				add(p.Macro+"RatioB"+model.Spelled(b), fixed(r.VarianceRatio, 3))
			}
			add(p.Macro+"HalfWidthB"+model.Spelled(b), fixed(100*c.HalfWidth(r.VarianceRatio, b), 2))
		}
	}
	for _, p := range policy.CaseStudy {
		if bins := c.Distribution(p); len(bins) > 0 {
			e := bins[0]
			add(p.Macro+"Bias", table.Format{Decimals: 4, Scale: 100}.Print(e.Mean-e.Truth))
			add(p.Macro+"BiasSE", fixed(100*e.MeanSE, 4))
			add(p.Macro+"SD", fixed(100*e.SD, 3))
		}
	}
	if len(c.Estimates) > 0 {
		add("Repetitions", display.Thousands(c.Estimates[0].Repetitions))
	}
	return all, nil
}
