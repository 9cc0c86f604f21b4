package report

import (
	"fmt"
	"math"

	"speceval/internal/variance"
)

// judgeVariance compares Table 1: means by policy, then IBN's strengths.
func judgeVariance(s stored, paper Targets) ([]Cell, error) {
	rows, err := meanRows(s.Results)
	if err != nil {
		return nil, err
	}
	byBudget := map[int32]meanRow{}
	for _, r := range rows {
		byBudget[r.budget] = r
	}
	const table = "table1_variance"
	var cells []Cell
	for i, b := range paper.Table1.Budget {
		if !s.has(b) {
			continue
		}
		row := fmt.Sprintf("b=%d", b)
		for _, policy := range policies {
			want := paper.Table1.list(policy)[i]
			cells = append(cells, judgeMean(byBudget[b], policy, want).in(table, row, policy))
		}
		c := judgeAlpha(s.Candidates, b, byBudget[b].alpha, paper.Table1.IBNAlpha[i])
		cells = append(cells, c.in(table, row, "ibn_alpha"))
	}
	return cells, nil
}

// judgeMean compares an entry of Table 1. The Oracle is exact and has no
// tolerance.
func judgeMean(row meanRow, policy string, paper float64) Cell {
	e, ok := row.means[policy]
	if !ok {
		return absent(paper, 3, "not replayed")
	}
	r := rule{decimals: 3, tolerance: table1Tolerance}
	if policy == variance.Oracle {
		r.tolerance = 0
	}
	return compare(e, paper, r)
}

// judgeAlpha compares IBN's selected prior strength. Another strength is a tie
// if the paper's has a mean ratio no more than noise above the least.
//
// Candidates share pilot paths within a profile, so the standard error of
// their difference is less than that of independent ones, which is what the
// stored standard errors give and what is used here: an upper bound. Design
// noise is left out, since neighbouring strengths have nearly the same.
func judgeAlpha(candidates []variance.Ratio, budget int32, got *float64, paper float64) Cell {
	if got == nil {
		return absent(paper, 2, "not replayed")
	}
	c := compare(Estimate{Value: *got}, paper, rule{decimals: 2})
	if c.Verdict == Agrees {
		return c
	}
	best, okBest := candidateMean(candidates, budget, *got)
	theirs, okPaper := candidateMean(candidates, budget, paper)
	if !okBest || !okPaper {
		return c.noted("the grid of strengths lacks the paper's")
	}
	loss, se := theirs.Value-best.Value, math.Hypot(theirs.SE, best.SE)
	return choice(c, loss, se).noted(fmt.Sprintf("at the paper's strength the mean is %.5f higher", loss))
}

// candidateMean is the mean ratio of IBN at one strength, with the standard
// error of its replay.
func candidateMean(candidates []variance.Ratio, budget int32, alpha float64) (Estimate, bool) {
	var sum, square, n float64
	for _, r := range candidates {
		if r.Policy == variance.TunedIBN && r.Budget == budget && alphaOf(r.Alpha) == alpha {
			sum, square, n = sum+r.VarianceRatio, square+r.RatioSE*r.RatioSE, n+1
		}
	}
	if n == 0 {
		return Estimate{}, false
	}
	return Estimate{sum / n, math.Sqrt(square) / n}, true
}
