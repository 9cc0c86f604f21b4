package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/paper"
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Variance is the paper's Table 1: mean Uniform-normalized variance over profiles,
// by budget and policy.
var Variance = &model.Table{
	Base: paper.Variance, Section: paper.Variance, Label: "tab:bayesian-neyman-main",
	Reads:    stored.Reads{Units: bothRefs, Paper: true},
	Chapter:  "Variance",
	Overview: "Table 1: mean variance relative to Uniform over the profiles",
	Remarks: []string{
		`<ref table1_variance> has the main result.`,
		`HBN's mean variance is \specHBNVariance<LOW>{} of Uniform's at $b=<low>$ and \specHBNVariance<HIGH>{} at $b=<high>$.`,
		`There EN's is larger by \specHBNBelowEN<LOW>{} and \specHBNBelowEN<HIGH>{} percentage points, and that of IBN, which was tuned in hindsight, by \specHBNBelowIBN<LOW>{} and \specHBNBelowIBN<HIGH>{}.`,
		`That is an order of means: over other benchmarks, the 95\% interval of IBN's variance less HBN's \specIBNOverHBNInterval{}; \specIBNOverHBNProfiles{} (<ref paired_differences>).`,
		`The Oracle, which knows the profile, marks what is possible.`,
		`In rollouts, HBN at $b=<high>$ is on average worth Uniform at $b=\specEquivalentBudget<HIGH>$.`,
	},
	Make: makeVariance, Macros: varianceMacros,
}

// bothRefs are the units that means of ratios with their errors are made of.
var bothRefs = []dag.Ref{stored.DesignsRef, stored.RatiosRef}

// meanPolicies are the columns of Table 1, in the paper's order.
var meanPolicies = paperPolicies(1)

// paperPolicies are the policies that a table of the paper has.
func paperPolicies(number int) (all []*policy.Policy) {
	for _, p := range policy.All {
		if p.PaperTable == number {
			all = append(all, p)
		}
	}
	return all
}

// meanRows are the rows of Table 1.
func meanRows(src *stored.Source) ([]variance.Means, error) {
	res, err := src.Results()
	if err != nil {
		return nil, err
	}
	return variance.NewMeans(res.Designs, res.Ratios, meanPolicies)
}

// makeVariance sets each policy in percent, in print next to the paper's entry. The
// least feasible policy of a row is bold.
func makeVariance(src *stored.Source) (*model.Sheet, error) {
	rows, err := meanRows(src)
	if err != nil {
		return nil, err
	}
	s := &model.Sheet{Rows: len(rows), Title: varianceTitle(rows)}
	s.Key = func(i int) paper.Key { return paper.Key{Budget: rows[i].Budget} }
	s.Lack = model.IfAbsent("not replayed")
	s.Add(model.BudgetRow(func(i int) int32 { return rows[i].Budget }))
	for _, p := range meanPolicies {
		s.Add(meanColumns(rows, p)...)
		if p.Strength {
			s.Add(strengthColumn(src, rows))
		}
	}
	return s, nil
}

// scores is how a policy of Table 1 comes to its continuations, in words.
var scores = map[*policy.Policy]string{
	policy.EN:  "L is the exact integer allocation (Eq. 8) of the empirical scores (Eq. 16), (m, w) those of Table 6",
	policy.IBN: "L is the exact integer allocation (Eq. 8) of the scores under Beta(α, α) priors (Eq. 15) with the strength in ibn_alpha, (m, w) designed under that prior (Eqs. 20 and 21)",
	policy.HBN: "L is the exact integer allocation (Eq. 8) of the posterior scores (Eqs. 6 and 7), (m, w) those of Table 5",
}

// meanWords is the entry of a policy in a table of means.
func meanWords(p *policy.Policy) string {
	if p.Clairvoyant {
		return "The variance of the Oracle over that of Uniform, " + meanForm + ". The Oracle knows the profile and takes the exact integer allocation n* of Eq. 2, so that " +
			"r = b·Σ(v_i/n*_i)/Σ v_i, without Monte Carlo error. Of the oracle rows in replay/ratios.parquet."
	}
	return "The variance of " + p.Label + " over that of Uniform, " + meanForm + ". On each profile " + ratioForm +
		"; " + scores[p] + ". Of the rows of that policy and budget in replay/ratios.parquet."
}

// meanColumns are the mean of a policy and, unless that is exact, its error.
func meanColumns(rows []variance.Means, p *policy.Policy) []model.Column {
	cell := func(i int, of func(variance.Mean) float64) table.Cell {
		if e, ok := rows[i].Of[p]; ok {
			return table.Number(of(e))
		}
		return table.Missing()
	}
	value := func(i int) table.Cell { return cell(i, func(m variance.Mean) float64 { return m.Value }) }
	tolerance := 0.001 // the accepted difference of a Monte Carlo mean, whatever its error
	if p.Clairvoyant {
		tolerance = 0
	}
	c := model.Column{
		Name: p.Name, Words: meanWords(p), Head: table.Head{Plain: p.Label}, Format: percent1, Paired: true, Cell: value,
		Shown: func(i int) table.Cell {
			if p == rows[i].Best() {
				return value(i).Bold()
			}
			return value(i)
		},
		Rule: &model.Rule{Where: "Table 1", Class: agreement.Computed, Decimals: 3,
			Judge: func(i int, want float64) agreement.Comparison {
				if len(rows[i].Of[p].Ratios) == 0 {
					return agreement.Lacking(want, 3, "not replayed")
				}
				return agreement.Compare(rows[i].Of[p].Estimate, want, 3, tolerance)
			},
			Overview: &model.Overview{Head: p.Label, Obtained: table.Format{Decimals: 4}, Theirs: table.Format{Decimals: 3}}},
	}
	if p.Clairvoyant {
		return []model.Column{c}
	}
	se := model.Column{
		Name: p.Name + "_se", Role: model.Error, Of: p.Name, Words: meanErrorWords,
		Cell: func(i int) table.Cell { return cell(i, func(m variance.Mean) float64 { return m.SE }) },
	}
	return []model.Column{c, se}
}

// strengthColumn is IBN's selected prior strength. Another strength than the
// paper's is a tie if the paper's has a mean ratio no more than noise above the
// least.
func strengthColumn(src *stored.Source, rows []variance.Means) model.Column {
	return model.Column{
		Name: "ibn_alpha",
		Words: "The prior strength of IBN: the one of the grid whose mean ratio over the profiles is least at this budget (Eq. 22), the smaller of equals. " +
			"Of the means over replay/ibn_candidates.parquet.",
		Cell: func(i int) table.Cell { return table.Optional(rows[i].Alpha) },
		Rule: &model.Rule{
			Words:    "The prior strength that the paper's search selects (Appendix B.3), as data/paper_targets.toml has it.",
			Class:    agreement.Computed,
			Decimals: 2, Last: true,
			Judge: func(i int, want float64) agreement.Comparison { return judgeStrength(src, rows, i, want) },
		},
	}
}

// judgeStrength compares a prior strength.
//
// Candidates share pilot paths within a profile, so the standard error of
// their difference is less than that of independent ones, which is what the
// stored standard errors give and what is used here: an upper bound. Design
// noise is left out, since neighbouring strengths have nearly the same.
func judgeStrength(src *stored.Source, rows []variance.Means, i int, want float64) agreement.Comparison {
	if rows[i].Alpha == nil {
		return agreement.Lacking(want, 2, "not replayed")
	}
	got := *rows[i].Alpha
	c := agreement.Compare(exactly(got), want, 2, 0)
	if c.Verdict == agreement.Agrees {
		return c
	}
	candidates, err := src.Candidates()
	best, okBest := variance.StrengthMean(candidates, rows[i].Budget, got)
	theirs, okPaper := variance.StrengthMean(candidates, rows[i].Budget, want)
	if err != nil || !okBest || !okPaper {
		return c.Noted("the grid of strengths lacks the paper's")
	}
	loss, se := theirs.Value-best.Value, math.Hypot(theirs.SE, best.SE)
	return agreement.Choice(c, loss, se).Noted(fmt.Sprintf("at the paper's strength the mean is %.5f higher", loss))
}

// varianceTitle is the caption of Table 1, with what its cells leave out: the
// number of profiles, IBN's prior strengths, the largest standard error.
func varianceTitle(rows []variance.Means) string {
	var profiles int
	var worst float64
	var strengths []string
	for _, r := range rows {
		profiles = max(profiles, r.Profiles)
		for _, p := range meanPolicies {
			worst = max(worst, r.Of[p].SE)
		}
		if r.Alpha != nil {
			strengths = append(strengths, fmt.Sprintf("%g", *r.Alpha))
		}
	}
	tuning := "EN and IBN were tuned in hindsight"
	if len(strengths) > 0 {
		tuning += fmt.Sprintf(" (IBN prior strengths %s)", strings.Join(strengths, ", "))
	}
	return fmt.Sprintf("How much of Uniform's variance each policy leaves, the mean over %d profiles of a benchmark and a checkpoint; "+
		"100%% would be no gain. %s, while HBN's design was fixed before any outcome. "+
		"Monte Carlo standard errors are at most %.2f percentage points.", profiles, tuning, 100*worst)
}

// varianceMacros are the means and what they leave to 100%, then what HBN gains:
// the least and the greatest reduction, by how much it is below EN and IBN, and the
// budget of a Uniform with its precision.
func varianceMacros(src *stored.Source) (all []model.Macro, err error) {
	rows, err := meanRows(src)
	if err != nil {
		return nil, err
	}
	add := func(name string, b int32, value string) { all = append(all, macroOf(name, b, value)) }
	for _, r := range rows {
		for _, p := range meanPolicies {
			if e, ok := r.Of[p]; ok {
				add(p.Macro+"Variance", r.Budget, percent1.Print(e.Value))
				add(p.Macro+"Reduction", r.Budget, percent1.Print(1-e.Value))
			}
		}
		if r.Alpha != nil {
			add("IBNAlpha", r.Budget, shortest(*r.Alpha))
		}
	}
	var reductions []float64
	for _, r := range rows {
		hbn, ok := r.Of[policy.HBN]
		if !ok {
			continue
		}
		reductions = append(reductions, 1-hbn.Value)
		for _, p := range meanPolicies {
			if e, ok := r.Of[p]; ok && p != policy.HBN && !p.Clairvoyant {
				add("HBNBelow"+p.Macro, r.Budget, minus(table.Format{Decimals: 1, Scale: 100}.Print(e.Value-hbn.Value)))
			}
		}
		worth := variance.MeanEquivalent(hbn.Ratios)
		add("EquivalentBudget", r.Budget, fmt.Sprintf("%.1f", worth))
		add("EquivalentGain", r.Budget, minus(percent1.Print(worth/float64(r.Budget)-1)))
	}
	if len(reductions) > 0 {
		all = append(all, model.Macro{Name: "specHBNReductionLeast", Value: minus(percent1.Print(slices.Min(reductions)))},
			model.Macro{Name: "specHBNReductionMost", Value: minus(percent1.Print(slices.Max(reductions)))})
	}
	return all, nil
}

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
	}
	ratios := make([]variance.Ratio, len(rows))
	for i, e := range rows {
		ratios[i] = e.Ratio
	}
	s.Add(profileKeys(func(i int) variance.Ratio { return ratios[i] })...)
	s.Add(
		model.Column{Name: "hbn", Words: "HBN's variance ratio r on this profile: " + ratioForm + ". The hbn row of replay/ratios.parquet.",
			Cell: model.Numbers(func(i int) float64 { return rows[i].VarianceRatio })},
		model.Column{Name: "equivalent_budget", Words: "The rollouts per task that Uniform would need for HBN's variance: b/r (Section 4.3).",
			Cell: model.Numbers(func(i int) float64 { return rows[i].Worth.Value })},
		errorColumn("equivalent_se", "equivalent_budget", "The Monte Carlo standard error of equivalent_budget: b·s/r², with the error s of r by replay and by the design's weight.",
			func(i int) float64 { return rows[i].Worth.SE }),
		model.Column{Name: "rounded", Words: "The whole budget ⌊b/r⌋ that would be executed (Appendix B.5).",
			Cell: model.Counts(func(i int) int32 { return rows[i].Rounded })})
	s.Layout = perProfile(ratios, func(b int32) []table.Column {
		return []table.Column{{Head: model.BudgetHead(b), Format: table.Format{Decimals: 2}}}
	}, func(i int) (int, table.Cell) { return 0, table.Number(rows[i].Worth.Value) })
	return s, nil
}
