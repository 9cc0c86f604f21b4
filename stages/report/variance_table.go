package report

import (
	"fmt"
	"strings"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// meanRow is a row of Table 1: means over profiles at one budget, by policy.
type meanRow struct {
	budget   int32
	profiles int
	means    map[string]Estimate // a policy that was not replayed is absent
	alpha    *float64            // IBN's selected prior strength
}

// meanRows computes Table 1. Every policy of a budget must cover the same
// number of profiles, and IBN one prior strength: a mean over fewer profiles
// than its neighbour's would look like a gain.
func meanRows(res Results) ([]meanRow, error) {
	designs := newSchedules(res.Designs)
	var rows []meanRow
	for _, b := range budgets(res.Ratios) {
		row := meanRow{budget: b, means: map[string]Estimate{}}
		for _, policy := range policies {
			ratios := pick(res.Ratios, policy, b)
			if len(ratios) == 0 {
				continue
			}
			if row.profiles == 0 {
				row.profiles = len(ratios)
			}
			if len(ratios) != row.profiles {
				return nil, fmt.Errorf("ratios: %s covers %d profiles at budget %d where others cover %d; run the replay stage again",
					policy, len(ratios), b, row.profiles)
			}
			mean, err := meanRatio(designs, ratios)
			if err != nil {
				return nil, err
			}
			row.means[policy] = mean
			if policy == variance.TunedIBN {
				if row.alpha, err = oneAlpha(ratios); err != nil {
					return nil, err
				}
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// oneAlpha is the prior strength that all ratios share.
func oneAlpha(ratios []variance.Ratio) (*float64, error) {
	alpha := ratios[0].Alpha
	for _, r := range ratios {
		if alphaOf(r.Alpha) != alphaOf(alpha) {
			return nil, fmt.Errorf("ratios: %s has more than one selected alpha at budget %d", r.Policy, r.Budget)
		}
	}
	return alpha, nil
}

// varianceTable is the paper's Table 1: mean Uniform-normalized variance over
// profiles, by budget and policy. paper is nil where the profiles are not the
// paper's.
func varianceTable(res Results, paper *Targets) (Sheet, error) {
	rows, err := meanRows(res)
	if err != nil {
		return Sheet{}, err
	}
	s := Sheet{Base: "table1_variance"}
	s.Data = varianceData(rows, paper)
	s.Print = variancePrint(rows, paper)
	s.Data.Title, s.Data.Label = s.Print.Title, s.Print.Label
	return s, nil
}

func varianceData(rows []meanRow, paper *Targets) table.Table {
	t := table.Table{Columns: names("budget", "oracle", "tuned_en", "tuned_en_se",
		"tuned_ibn", "tuned_ibn_se", "ibn_alpha", "hbn", "hbn_se")}
	if paper != nil {
		t.Columns = append(t.Columns, names("paper_oracle", "paper_tuned_en",
			"paper_tuned_ibn", "paper_ibn_alpha", "paper_hbn")...)
	}
	for _, r := range rows {
		oracle, _ := r.cells(variance.Oracle)
		en, enSE := r.cells(variance.TunedEN)
		ibn, ibnSE := r.cells(variance.TunedIBN)
		hbn, hbnSE := r.cells(variance.HBN)
		line := []table.Cell{table.Integer(r.budget), oracle, en, enSE,
			ibn, ibnSE, table.Optional(r.alpha), hbn, hbnSE}
		if paper != nil {
			p := paper.Table1
			for _, list := range [][]float64{p.Oracle, p.TunedEN, p.TunedIBN, p.IBNAlpha, p.HBN} {
				line = append(line, found(at(p.Budget, list, r.budget)))
			}
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// cells is a policy's mean and its standard error.
func (r meanRow) cells(policy string) (mean, se table.Cell) {
	e, ok := r.means[policy]
	if !ok {
		return table.Missing(), table.Missing()
	}
	return table.Number(e.Value), table.Number(e.SE)
}

// list is the paper's entries of a policy.
func (p varianceTargets) list(policy string) []float64 {
	return map[string][]float64{
		variance.Oracle: p.Oracle, variance.TunedEN: p.TunedEN,
		variance.TunedIBN: p.TunedIBN, variance.HBN: p.HBN,
	}[policy]
}

// policyName is a policy as the paper prints it.
var policyName = map[string]string{
	variance.Oracle: "Oracle", variance.TunedEN: "Tuned EN",
	variance.TunedIBN: "Tuned IBN", variance.HBN: "HBN", variance.TSNeyman: "TS-Neyman",
}

// variancePrint is Table 1 in percent, each policy beside the paper's entry.
// The least feasible policy of a row, the Oracle apart, is set bold.
func variancePrint(rows []meanRow, paper *Targets) table.Table {
	t := table.Table{Label: "tab:bayesian-neyman-main", Title: varianceTitle(rows)}
	t.Columns = []table.Column{{Align: table.Left}}
	percent := table.Format{Decimals: 1, Percent: true}
	for _, policy := range policies {
		head := table.Head{Plain: policyName[policy]}
		if paper == nil {
			t.Columns = append(t.Columns, table.Column{Head: head, Format: percent})
			continue
		}
		t.Columns = append(t.Columns,
			table.Column{Head: table.Head{Plain: "ours"}, Group: head, Format: percent},
			table.Column{Head: table.Head{Plain: "paper"}, Group: head, Format: percent})
	}
	for _, r := range rows {
		line := []table.Cell{budgetCell(r.budget)}
		for _, policy := range policies {
			cell, _ := r.cells(policy)
			if policy == r.best() {
				cell = cell.Bold()
			}
			line = append(line, cell)
			if paper != nil {
				line = append(line, found(at(paper.Table1.Budget, paper.Table1.list(policy), r.budget)))
			}
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// varianceTitle is the caption of Table 1, with what its cells leave out: the
// number of profiles, IBN's prior strengths, the largest standard error.
func varianceTitle(rows []meanRow) string {
	var profiles int
	var worst float64
	var strengths []string
	for _, r := range rows {
		profiles = max(profiles, r.profiles)
		for _, policy := range policies {
			worst = max(worst, r.means[policy].SE)
		}
		if r.alpha != nil {
			strengths = append(strengths, fmt.Sprintf("%g", *r.alpha))
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

// best is the feasible policy with the least mean.
func (r meanRow) best() string {
	var best string
	for _, policy := range policies[1:] {
		e, ok := r.means[policy]
		if b, have := r.means[best]; ok && (!have || e.Value < b.Value) {
			best = policy
		}
	}
	return best
}
