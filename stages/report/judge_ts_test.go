package report_test

import (
	"slices"
	"strings"
	"testing"

	"speceval/internal/agreement"
	"speceval/internal/paper"
	"speceval/internal/variance"
)

// TestVerdictsOnTSNeyman has a noise of 0.0024 on a mean of Table 8, ours and
// the paper's, and of 0.0033 on what one candidate loses to another.
func TestVerdictsOnTSNeyman(t *testing.T) {
	change := func(f func(best, worse *variance.Search)) func(*study) {
		return func(s *study) {
			for i := range s.search {
				if b := s.search[i].Budget; s.search[i].Selected && b == 16 {
					f(&s.search[i], &s.search[i+1])
					return
				}
			}
		}
	}
	mse := func(d float64) func(*study) {
		return change(func(best, _ *variance.Search) { best.MSE += d })
	}
	other := func(loss float64) func(*study) { // is selected, and the paper's candidate loses to it
		return change(func(papers, other *variance.Search) {
			other.Finalist, other.Selected, papers.Selected = true, true, false
			other.Draws, other.MSE = papers.Draws, papers.MSE
			papers.Excess, papers.ExcessSE = loss, 0.0028
		})
	}
	warm := change(func(best, _ *variance.Search) { best.M0 = 5 })
	none := func(s *study) { s.search = nil }
	const table, row = paper.TSNeyman, "b=16"
	for _, c := range []verdictCase{
		{"higher within noise", table, row, "ts", mse(0.006), agreement.Within},
		{"higher beyond noise", table, row, "ts", mse(0.009), agreement.Differs},
		{"lower beyond noise", table, row, "ts", mse(-0.009), agreement.Differs},
		{"the gap with it", table, row, "delta", mse(0.009), agreement.Differs},
		{"the gap within noise", table, row, "delta", mse(0.006), agreement.Within},
		{"HBN", table, row, "hbn", shift(variance.HBN, 16, 0.01), agreement.Differs},
		{"the gap without HBN's change", table, row, "delta", shift(variance.HBN, 16, -0.02), agreement.Differs},
		{"another strength, as good", table, row, "alpha", other(0.009), agreement.Tie},
		{"another strength, better", table, row, "alpha", other(0.011), agreement.Differs},
		{"the same warm start", table, row, "m0", other(0.011), agreement.Agrees},
		{"the paper's warm start was not tried", table, row, "m0", warm, agreement.Differs},
		{"nothing was searched", table, row, "ts", none, agreement.Absent},
		{"nothing was searched", table, row, "m0", none, agreement.Absent},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := paperStudy(t)
			v := c.check(t, s)
			untouched := func(c agreement.Comparison) bool { return c.Table == table && c.Row != row && !c.Verdict.Passes() }
			if c.want != agreement.Absent && slices.ContainsFunc(v.Cells, untouched) {
				t.Error("another budget is touched")
			}
		})
	}
}

// TestACandidateThatDidBetterInTheRace has the paper's candidate do better in the
// race than the finalist that further trajectories selected.
func TestACandidateThatDidBetterInTheRace(t *testing.T) {
	s := paperStudy(t)
	theirs, ours := &s.search[0], &s.search[1] // at b = 8
	theirs.Selected, theirs.Excess, theirs.ExcessSE = false, -0.001, 0.001
	ours.Finalist, ours.Selected, ours.MSE, ours.Draws = true, true, theirs.MSE+0.001, 800
	c := cellOf(t, s.verdicts(t), paper.TSNeyman, "b=8", "alpha")
	if c.Verdict != agreement.Tie || !strings.Contains(c.Note, "is 0.0010 lower here") {
		t.Errorf("%s: %s", c.Verdict, c.Note)
	}
}
