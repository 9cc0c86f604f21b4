package report

import (
	"fmt"

	"speceval/internal/variance"
)

// judgeSchedules compares Table 5 or 6, a cell for m and one for w of every
// task count and budget.
func judgeSchedules(kind scheduleKind, s stored, paper Targets) []Cell {
	targets := kind.targets(&paper)
	var cells []Cell
	for _, n := range targets.NTasks {
		for _, b := range paper.Table1.Budget {
			if !s.has(b) {
				continue
			}
			p, _ := paper.schedule(targets, n, b)
			m, w := judgeSchedule(s.Designs, kind, n, b, p)
			row := fmt.Sprintf("N=%d b=%d", n, b)
			cells = append(cells, m.in(kind.base, row, "m"), w.in(kind.base, row, "w"))
		}
	}
	return cells
}

// judgeSchedule compares a selected design with the paper's (m, w).
//
// The weight is compared at the paper's pilot size, whether or not we select
// it: rounding plus noise. Where m differs, or w does beyond noise, the risk
// decides: how much worse is the paper's (m, w) than our selection under our
// own masses? Common random numbers make the noise of that difference, GapSE,
// small, so a tie is a statement of substance.
func judgeSchedule(designs []variance.Design, kind scheduleKind, n, b int32, p schedule) (m, w Cell) {
	ours, ok := candidate(designs, kind.policy, n, b, func(d variance.Design) bool { return d.Selected })
	theirs, okPaper := candidate(designs, kind.policy, n, b, func(d variance.Design) bool { return d.M == p.m })
	if !ok || !okPaper {
		const note = "no such design is stored"
		return absent(float64(p.m), 0, note), absent(p.w, kind.decimals, note)
	}
	m = compare(Estimate{Value: float64(ours.M)}, float64(p.m), rule{})
	w = compare(Estimate{theirs.W, weightSE(theirs)}, p.w, rule{decimals: kind.decimals})
	loss := riskAt(theirs, nearest(theirs.W, p.w, kind.decimals)) - ours.Risk
	note := fmt.Sprintf("the paper's (m, w) has a risk %.6f higher", loss)
	if m.Verdict == Differs {
		m = choice(m, loss, theirs.GapSE).noted(note)
		w.Note = fmt.Sprintf("ours at m = %d", p.m)
	}
	if w.Verdict == Differs {
		w = choice(w, loss, theirs.GapSE).noted(note)
	}
	return m, w
}

// candidate is the design of a policy, task count and budget that is wanted.
func candidate(designs []variance.Design, policy string, n, b int32, want func(variance.Design) bool) (variance.Design, bool) {
	for _, d := range designs {
		if d.Policy == policy && d.NTasks == n && d.Budget == b && want(d) {
			return d, true
		}
	}
	return variance.Design{}, false
}

// riskAt is the risk of a design's pilot size at another stage weight w. The
// optimal weight w* gives the continuation mass C = w*/((1−w*)·m), and then
// the risk is b·(w²/m + (1−w)²·C) (paper, Eq. 11).
func riskAt(d variance.Design, w float64) float64 {
	b, m := float64(d.Budget), float64(d.M)
	c := d.W / ((1 - d.W) * m)
	return b * (w*w/m + (1-w)*(1-w)*c)
}

// nearest is the number closest to v among those that print as paper.
func nearest(v, paper float64, decimals int) float64 {
	beyond := beyondRounding(v, paper, decimals)
	if v < paper {
		return v + beyond
	}
	return v - beyond
}
