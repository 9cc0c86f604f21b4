package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/store/group"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Variance is the paper's Table 1: mean Uniform-normalized variance over profiles,
// by budget and policy.
var Variance = &model.Table{
	Base: paper.Variance, Label: "tab:bayesian-neyman-main",
	Reads:   stored.Reads{Units: bothRefs, Paper: true},
	Chapter: "Variance",
	Remarks: []string{
		`<ref table1_variance> has the main result.`,
		`HBN's mean variance is \specHBNVariance<LOW>{} of Uniform's at $b=<low>$ and \specHBNVariance<HIGH>{} at $b=<high>$.`,
		`There EN's is larger by \specHBNBelowEN<LOW>{} and \specHBNBelowEN<HIGH>{} percentage points, and that of IBN, which was tuned in hindsight, by \specHBNBelowIBN<LOW>{} and \specHBNBelowIBN<HIGH>{}.`,
		`That is an order of means: over other benchmarks, the 95\% interval of IBN's variance less HBN's \specIBNOverHBNInterval{}; \specIBNOverHBNProfiles{} (<ref paired_differences>).`,
		`The Oracle, which knows the profile, marks what is possible.`,
		`In rollouts, HBN at $b=<high>$ is on average worth Uniform at $b=\specEquivalentBudget<HIGH>$.`,
	},
	Make: makeVariance, Macros: varianceMacros,
	Words: `
oracle        The variance of the Oracle over that of Uniform, <mean>. The Oracle knows the profile and takes the exact integer allocation n* of Eq. 2, so that r = b·Σ(v_i/n*_i)/Σ v_i,
              without Monte Carlo error. Of the oracle rows in replay/ratios.parquet.
tuned_en      The variance of Tuned EN over that of Uniform, <mean>. On each profile <ratio>; L is the exact integer allocation (Eq. 8) of the empirical scores (Eq. 16), (m, w) those of
              Table 6. Of the rows of that policy and budget in replay/ratios.parquet.
tuned_en_se   <mean_se>
tuned_ibn     The variance of Tuned IBN over that of Uniform, <mean>. On each profile <ratio>; L is the exact integer allocation (Eq. 8) of the scores under Beta(α, α) priors (Eq. 15) with
              the strength in ibn_alpha, (m, w) designed under that prior (Eqs. 20 and 21). Of the rows of that policy and budget in replay/ratios.parquet.
tuned_ibn_se  <mean_se>
ibn_alpha     The prior strength of IBN: the one of the grid whose mean ratio over the profiles is least at this budget (Eq. 22), the smaller of equals. Of the means over
              replay/ibn_candidates.parquet.
paper_ibn_alpha The prior strength that the paper's search selects (Appendix B.3), as data/paper_targets.toml has it.
hbn           The variance of HBN over that of Uniform, <mean>. On each profile <ratio>; L is the exact integer allocation (Eq. 8) of the posterior scores (Eqs. 6 and 7), (m, w) those of
              Table 5. Of the rows of that policy and budget in replay/ratios.parquet.
hbn_se        <mean_se>
`,
}

// meanRow is a row of Table 1. A policy that was not replayed has no mean.
type meanRow struct {
	Budget model.RowBudget `csv:"budget" align:"left"`
	Oracle table.Cell      `csv:"oracle" head:"Oracle" format:".1%" paper:"3 paired"`
	EN     table.Cell      `csv:"tuned_en" head:"Tuned EN" format:".1%" paper:"3 0.001 paired"`
	ENSE   table.Cell      `csv:"tuned_en_se"`
	IBN    table.Cell      `csv:"tuned_ibn" head:"Tuned IBN" format:".1%" paper:"3 0.001 paired"`
	IBNSE  table.Cell      `csv:"tuned_ibn_se"`
	Alpha  *float64        `csv:"ibn_alpha" paper:"2"`
	HBN    table.Cell      `csv:"hbn" head:"HBN" format:".1%" paper:"3 0.001 paired"`
	HBNSE  table.Cell      `csv:"hbn_se"`
}

// bothRefs are the units that means of ratios with their errors are made of.
var bothRefs = []dag.Ref{stored.DesignsRef, stored.RatiosRef}

// meanPolicies are the columns of Table 1, in the paper's order.
var meanPolicies = []*policy.Policy{policy.Oracle, policy.EN, policy.IBN, policy.HBN}

// means are the standings of all policies, budget by budget.
func means(src *stored.Source) ([][]variance.Standing, error) {
	all, err := stored.Standings(src)
	return group.By(all, func(s variance.Standing) int32 { return s.Budget }), err
}

// meanOf is the standing of a policy among those of a budget, without ratios where it was not
// replayed.
func meanOf(all []variance.Standing, p *policy.Policy) (m variance.Standing) {
	for _, s := range all {
		if s.Policy == p {
			m = s
		}
	}
	return m
}

// makeVariance sets each policy in percent, in print next to the paper's entry. The
// least feasible policy of a row is bold.
func makeVariance(src *stored.Source) (*model.Sheet, error) {
	all, err := means(src)
	if err != nil {
		return nil, err
	}
	var rows []meanRow
	for _, r := range all {
		best := math.Inf(1)
		for _, p := range meanPolicies {
			if m := meanOf(r, p); m.Ratios != nil && !p.Clairvoyant {
				best = min(best, m.Value)
			}
		}
		of := func(p *policy.Policy) (mean, se table.Cell) {
			m := meanOf(r, p)
			if m.Ratios == nil {
				return mean, se
			}
			if mean = table.Number(m.Value); m.Value == best {
				mean = mean.Bold()
			}
			return mean, table.Number(m.SE)
		}
		row := meanRow{Budget: model.RowBudget(r[0].Budget), Alpha: meanOf(r, policy.IBN).Worst.Alpha}
		row.Oracle, _ = of(policy.Oracle)
		row.EN, row.ENSE = of(policy.EN)
		row.IBN, row.IBNSE = of(policy.IBN)
		row.HBN, row.HBNSE = of(policy.HBN)
		rows = append(rows, row)
	}
	s := model.NewSheet(varianceTitle(all, rows), rows)
	s.Absent = "not replayed"
	s.Column("ibn_alpha").Rule.Judge = func(i int, want float64) agreement.Comparison { return judgeStrength(src, rows[i], want) }
	return s, nil
}

// judgeStrength compares a prior strength.
//
// Candidates share pilot paths within a profile, so the standard error of
// their difference is less than that of independent ones, which is what the
// stored standard errors give and what is used here: an upper bound. Design
// noise is left out, since neighbouring strengths have nearly the same.
func judgeStrength(src *stored.Source, r meanRow, want float64) agreement.Comparison {
	if r.Alpha == nil {
		return agreement.Lacking(want, 2, "not replayed")
	}
	got := *r.Alpha
	c := agreement.Compare(exactly(got), want, 2, 0)
	if c.Verdict == agreement.Agrees {
		return c
	}
	candidates, err := stored.Candidates(src)
	best, okBest := variance.StrengthMean(candidates, int32(r.Budget), got)
	theirs, okPaper := variance.StrengthMean(candidates, int32(r.Budget), want)
	if err != nil || !okBest || !okPaper {
		return c.Noted("the grid of strengths lacks the paper's")
	}
	loss, se := theirs.Value-best.Value, math.Hypot(theirs.SE, best.SE)
	return agreement.Choice(c, loss, se).Noted(fmt.Sprintf("at the paper's strength the mean is %.5f higher", loss))
}

// varianceTitle is the caption of Table 1, with what its cells leave out: the
// number of profiles, IBN's prior strengths, the largest standard error.
func varianceTitle(all [][]variance.Standing, rows []meanRow) string {
	var profiles int
	var worst float64
	var strengths []string
	for i, r := range all {
		profiles = max(profiles, len(r[0].Ratios))
		for _, p := range meanPolicies {
			worst = max(worst, meanOf(r, p).SE)
		}
		if alpha := rows[i].Alpha; alpha != nil {
			strengths = append(strengths, fmt.Sprintf("%g", *alpha))
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
	rows, err := means(src)
	if err != nil {
		return nil, err
	}
	var gains []model.Macro
	var reductions []float64
	for _, r := range rows {
		b, hbn := r[0].Budget, meanOf(r, policy.HBN)
		for _, p := range meanPolicies {
			m := meanOf(r, p)
			if m.Ratios == nil {
				continue
			}
			all = append(all, macroOf(p.Macro+"Variance", b, percent1.Print(m.Value)), macroOf(p.Macro+"Reduction", b, percent1.Print(1-m.Value)))
			if hbn.Ratios != nil && p != policy.HBN && !p.Clairvoyant {
				gains = append(gains, macroOf("HBNBelow"+p.Macro, b, table.Format{Decimals: 1, Scale: 100}.Print(m.Value-hbn.Value)))
			}
		}
		if alpha := meanOf(r, policy.IBN).Worst.Alpha; alpha != nil {
			all = append(all, macroOf("IBNAlpha", b, shortest(*alpha)))
		}
		if hbn.Ratios != nil {
			reductions = append(reductions, 1-hbn.Value)
			worth := variance.MeanEquivalent(hbn.Ratios)
			gains = append(gains, macroOf("EquivalentBudget", b, fixed(worth, 1)), macroOf("EquivalentGain", b, percent1.Print(worth/float64(b)-1)))
		}
	}
	if len(reductions) > 0 {
		gains = append(gains, model.Macro{Name: "specHBNReductionLeast", Value: percent1.Print(slices.Min(reductions))},
			model.Macro{Name: "specHBNReductionMost", Value: percent1.Print(slices.Max(reductions))})
	}
	return append(all, gains...), nil
}
