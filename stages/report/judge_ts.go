package report

import (
	"fmt"
	"math"

	"speceval/internal/variance"
)

// judgeTS compares Table 8.
func judgeTS(s stored, paper Targets) ([]Cell, error) {
	rows, err := tsRows(s.Results, s.Search)
	if err != nil {
		return nil, err
	}
	byBudget := map[int32]tsRow{}
	for _, r := range rows {
		byBudget[r.best.Budget] = r
	}
	p := paper.Table8
	var cells []Cell
	for i, b := range p.Budget {
		if !s.has(b) {
			continue
		}
		add := func(column string, c Cell) { cells = append(cells, c.in(tsTable, fmt.Sprintf("b=%d", b), column)) }
		row, ok := byBudget[b]
		if !ok {
			const note = "not searched"
			add("alpha", absent(p.Alpha[i], 2, note))
			add("m0", absent(float64(p.M0[i]), 0, note))
			add("ts", absent(p.TS[i], 4, note))
			add("hbn", absent(p.HBN[i], 4, note))
			add("delta", absent(p.Delta[i], 4, note))
			continue
		}
		theirs := paperNoise(row.best)
		alpha, m0 := judgeCandidate(s.Search, row, p.Alpha[i], p.M0[i])
		add("alpha", alpha)
		add("m0", m0)
		add("ts", compareWith(row.best.MSE, math.Hypot(row.best.MSESE, theirs), p.TS[i], rule{decimals: 4}))
		add("hbn", compare(row.hbn, p.HBN[i], rule{decimals: 4}))
		delta := row.delta()
		noise := math.Hypot(math.Hypot(delta.SE, row.hbn.SE), theirs)
		add("delta", compareWith(delta.Value, noise, p.Delta[i], rule{decimals: 4}))
	}
	return cells, nil
}

// paperNoise is the standard error of the paper's mean for a candidate: that of
// our plain estimate, with its number of trajectories.
func paperNoise(s variance.Search) float64 {
	return s.RawSE * math.Sqrt(float64(s.Draws)/paperTrajectories)
}

// compareWith is compare with a standard error of the difference, for a number of
// the paper that has less noise than ours.
func compareWith(obtained, se, paper float64, r rule) Cell {
	return compare(Estimate{obtained, se / math.Sqrt2}, paper, r)
}

// judgeCandidate compares the selected prior strength and warm start. Another
// choice is a tie if the paper's does no worse in our search than the noise of
// both searches allows.
func judgeCandidate(search []variance.Search, row tsRow, alpha float64, m0 int32) (a, m Cell) {
	a = compare(Estimate{Value: row.best.Alpha}, alpha, rule{decimals: 2})
	m = compare(Estimate{Value: float64(row.best.M0)}, float64(m0), rule{})
	if a.Verdict == Agrees && m.Verdict == Agrees {
		return a, m
	}
	for _, s := range search {
		if s.Budget != row.best.Budget || s.Alpha != alpha || s.M0 != m0 {
			continue
		}
		loss, se := s.MSE-row.best.MSE, math.Hypot(s.MSESE, row.best.MSESE)
		note := fmt.Sprintf("the paper's (%g, %d) is %.4f %s here, s.e. %.4f", alpha, m0, math.Abs(loss), higher(loss), se)
		tie := func(c Cell) Cell {
			if c.Verdict == Agrees {
				return c
			}
			theirs := math.Hypot(paperNoise(s), paperNoise(row.best))
			return choice(c, loss, math.Hypot(se, theirs)/math.Sqrt2).noted(note)
		}
		return tie(a), tie(m)
	}
	const note = "the search lacks the paper's candidate"
	return a.noted(note), m.noted(note)
}

// higher is the word for a difference: a candidate of the race alone may have done
// better by chance than the one that is selected among the finalists.
func higher(difference float64) string {
	if difference < 0 {
		return "lower"
	}
	return "higher"
}
