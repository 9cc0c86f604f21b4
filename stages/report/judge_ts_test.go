package report

import (
	"slices"
	"strings"
	"testing"

	"speceval/internal/variance"
)

// TestVerdictsOnTSNeyman has a noise of 0.0024 on a mean of Table 8, ours and
// the paper's, and of 0.0033 on what one candidate loses to another.
func TestVerdictsOnTSNeyman(t *testing.T) {
	change := func(f func(best, worse *variance.Search)) func(*stored) {
		return func(s *stored) {
			for i := range s.Search {
				if b := s.Search[i].Budget; s.Search[i].Selected && b == 16 {
					f(&s.Search[i], &s.Search[i+1])
					return
				}
			}
		}
	}
	mse := func(d float64) func(*stored) {
		return change(func(best, _ *variance.Search) { best.MSE += d })
	}
	other := func(loss float64) func(*stored) { // is selected, and the paper's candidate loses to it
		return change(func(papers, other *variance.Search) {
			other.Finalist, other.Selected, papers.Selected = true, true, false
			other.Draws, other.MSE, papers.MSE = papers.Draws, papers.MSE, papers.MSE+loss
		})
	}
	warm := change(func(best, _ *variance.Search) { best.M0 = 5 })
	none := func(s *stored) { s.Search = nil }
	for _, c := range []struct {
		name, column string
		change       func(*stored)
		want         Verdict
	}{
		{"higher within noise", "ts", mse(0.006), WithinNoise},
		{"higher beyond noise", "ts", mse(0.009), Differs},
		{"lower beyond noise", "ts", mse(-0.009), Differs},
		{"the gap with it", "delta", mse(0.009), Differs},
		{"the gap within noise", "delta", mse(0.006), WithinNoise},
		{"HBN", "hbn", shift(variance.HBN, 16, 0.01), Differs},
		{"the gap without HBN's change", "delta", shift(variance.HBN, 16, -0.02), Differs},
		{"another strength, as good", "alpha", other(0.009), Tie},
		{"another strength, better", "alpha", other(0.011), Differs},
		{"the same warm start", "m0", other(0.011), Agrees},
		{"the paper's warm start was not tried", "m0", warm, Differs},
		{"nothing was searched", "ts", none, Absent},
		{"nothing was searched", "m0", none, Absent},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := paperStudy(t)
			c.change(&s)
			v := judged(t, s)
			if got := v.cell(t, tsTable, "b=16", c.column); got.Verdict != c.want {
				t.Errorf("%s: %s, want %s (%s)", c.column, got.Verdict, c.want, got.Note)
			}
			if !c.want.Passes() && v.Passed() {
				t.Error("passed with a cell that does not")
			}
			untouched := func(c Cell) bool { return c.Table == tsTable && c.Row != "b=16" && !c.Verdict.Passes() }
			if s.Search != nil && slices.ContainsFunc(v.Cells, untouched) {
				t.Error("another budget is touched")
			}
		})
	}
}

// TestACandidateThatDidBetterByChance has the paper's candidate fall out of the
// race though its few trajectories did better than the selected one's many.
func TestACandidateThatDidBetterByChance(t *testing.T) {
	s := paperStudy(t)
	theirs, ours := &s.Search[0], &s.Search[1] // at b = 8
	theirs.Finalist, theirs.Selected, theirs.MSESE = false, false, 0.03
	ours.Finalist, ours.Selected, ours.MSE, ours.Draws = true, true, theirs.MSE+0.001, 800
	c := judged(t, s).cell(t, tsTable, "b=8", "alpha")
	if c.Verdict != Tie || !strings.Contains(c.Note, "is 0.0010 lower here") {
		t.Errorf("%s: %s", c.Verdict, c.Note)
	}
}
