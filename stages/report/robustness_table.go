package report

import (
	"fmt"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// gainZ is the normal quantile of the paper's criterion of a gain.
const gainZ = 1.96

// spread is how HBN's gains spread over profiles at one budget.
type spread struct {
	budget   int32
	profiles int
	gaining  int // ratio + 1.96 standard errors below 1
	worst    variance.Ratio
}

// spreads computes the spread of HBN's ratios at every budget.
func spreads(ratios []variance.Ratio) []spread {
	var out []spread
	for _, b := range budgets(ratios) {
		hbn := pick(ratios, variance.HBN, b)
		if len(hbn) == 0 {
			continue
		}
		s := spread{budget: b, profiles: len(hbn), worst: hbn[0]}
		for _, r := range hbn {
			if gains(r) {
				s.gaining++
			}
			if r.VarianceRatio > s.worst.VarianceRatio {
				s.worst = r
			}
		}
		out = append(out, s)
	}
	return out
}

// gains is the paper's criterion: below Uniform by 1.96 standard errors.
func gains(r variance.Ratio) bool { return r.VarianceRatio+gainZ*r.RatioSE < 1 }

// adverse is the paper's ratio of its adverse profile at a budget; the paper
// names a worst profile only where it is worse than Uniform.
func (t robustnessTargets) adverse(budget int32) (ratio float64, ok bool) {
	switch budget {
	case 16:
		return t.AdverseRatioB16, true
	case 32:
		return t.AdverseRatioB32, true
	}
	return 0, false
}

// robustnessTable counts the profiles on which HBN gains, and names the worst
// one, by budget (paper, appendix on profile robustness).
func robustnessTable(ratios []variance.Ratio, paper *Targets) Sheet {
	s := Sheet{Base: "robustness"}
	s.Data.Columns = names("budget", "profiles", "profiles_gaining", "worst_profile", "worst_ratio", "worst_se")
	if paper != nil {
		s.Data.Columns = append(s.Data.Columns,
			names("paper_profiles", "paper_profiles_gaining", "paper_worst_profile", "paper_worst_ratio")...)
	}
	rows := spreads(ratios)
	for _, r := range rows {
		line := []table.Cell{table.Integer(r.budget), table.Integer(r.profiles), table.Integer(r.gaining),
			table.Text(name(r.worst)), table.Number(r.worst.VarianceRatio), table.Number(r.worst.RatioSE)}
		if paper != nil {
			line = append(line, paperSpread(*paper, r.budget)...)
		}
		s.Data.Rows = append(s.Data.Rows, line)
	}
	s.Print = spreadPrint(rows, paper)
	s.Data.Title, s.Data.Label = s.Print.Title, s.Print.Label
	return s
}

// paperSpread is the paper's columns at a budget.
func paperSpread(paper Targets, budget int32) []table.Cell {
	line := []table.Cell{table.Missing(), table.Missing(), table.Missing(), table.Missing()}
	p := paper.Robustness
	if n, ok := at(p.Budget, p.ProfilesGaining, budget); ok {
		line[0], line[1] = table.Integer(paper.Corpus.Profiles), table.Integer(n)
	}
	if ratio, ok := p.adverse(budget); ok {
		line[2], line[3] = table.Text(p.AdverseProfile), table.Number(ratio)
	}
	return line
}

func spreadPrint(rows []spread, paper *Targets) table.Table {
	t := table.Table{
		Label: "tab:profile-robustness",
		Title: "Profiles on which HBN improves on Uniform: Monte Carlo estimate plus 1.96 standard errors " +
			"below one. The worst profile has the largest variance ratio, with its standard error.",
	}
	three := table.Format{Decimals: 3}
	gaining, worst := table.Head{Plain: "Profiles gaining"}, table.Head{Plain: "Worst profile"}
	ours, theirs := table.Head{Plain: "ours"}, table.Head{Plain: "paper"}
	t.Columns = []table.Column{{Align: table.Left}}
	if paper == nil {
		t.Columns = append(t.Columns, table.Column{Head: gaining})
	} else {
		t.Columns = append(t.Columns, table.Column{Head: ours, Group: gaining}, table.Column{Head: theirs, Group: gaining})
	}
	t.Columns = append(t.Columns,
		table.Column{Head: table.Head{Plain: "name"}, Group: worst, Align: table.Left},
		table.Column{Head: table.Head{Plain: "ratio"}, Group: worst, Format: three},
		table.Column{Head: table.Head{Plain: "s.e."}, Group: worst, Format: table.Format{Decimals: 4}})
	if paper != nil {
		t.Columns = append(t.Columns, table.Column{Head: theirs, Group: worst, Format: three})
	}
	for _, r := range rows {
		line := []table.Cell{budgetCell(r.budget), table.Text(fmt.Sprintf("%d/%d", r.gaining, r.profiles))}
		var theirs []table.Cell
		if paper != nil {
			theirs = paperSpread(*paper, r.budget)
			n, ok := at(paper.Robustness.Budget, paper.Robustness.ProfilesGaining, r.budget)
			line = append(line, fraction(n, paper.Corpus.Profiles, ok))
		}
		line = append(line, table.Text(profileName(r.worst)),
			table.Number(r.worst.VarianceRatio), table.Number(r.worst.RatioSE))
		if paper != nil {
			line = append(line, theirs[3])
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// fraction is "106/107".
func fraction(n, of int64, ok bool) table.Cell {
	if !ok {
		return table.Missing()
	}
	return table.Text(fmt.Sprintf("%d/%d", n, of))
}

// profileName is a profile in print.
func profileName(r variance.Ratio) string { return r.Benchmark + ", " + modelName(r.Model) }
