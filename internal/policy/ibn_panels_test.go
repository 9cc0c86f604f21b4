package policy

import (
	"math"
	"testing"

	"speceval/internal/pilot"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

// TestUrnValuesAreThoseOfTheAllocator recomputes the sums over IBN's panels,
// prior strength after prior strength, from the paths and task by task.
func TestUrnValuesAreThoseOfTheAllocator(t *testing.T) {
	for _, tasks := range []int{2, 9, 40} {
		cs := pilot.AllCandidates([]int{5, 12})
		random := seed.Root(21).Index(tasks).Stream()
		u := newUrns(60, tasks, cs.LongestPilot(), &random)
		var panel ibnPanel
		for _, alpha := range []float64{0.01, 0.02, 0.25, 1} {
			u.setPrior(alpha)
			got, want := make([]float64, len(cs)), make([]float64, len(cs))
			u.addMasses(&panel, got, alpha, cs, false)
			for k, c := range cs {
				for p := range u.panels {
					want[k] += valueByTask(t, ibnPosterior(alpha)(foldedOf(u, p, c.M), c.M), tasks*(c.Budget-c.M))
				}
			}
			for k, c := range cs {
				if math.Abs(got[k]-want[k]) > 1e-11*want[k] {
					t.Errorf("%d tasks, α = %v, b = %d, m = %d: sum %v, want %v", tasks, alpha, c.Budget, c.M, got[k], want[k])
				}
			}
		}
	}
}

// TestScoresAreIntegers guards the ties between classes: for every prior
// strength of the paper's grid the scores are integers, and the unit turns them
// into those of Eq. 15.
func TestScoresAreIntegers(t *testing.T) {
	for _, alpha := range []float64{0.01, 0.07, 0.125, 0.13, 0.2, 0.25, 0.5, 1} {
		for _, m := range []int{1, 2, 17, 63} {
			scores, unit := ibnScores(alpha, m)
			for s, v := range scores {
				if v != math.Round(v) {
					t.Errorf("α = %v, m = %d, S = %d: score %v is no integer", alpha, m, s, v)
				}
				if want := ibnPosterior(alpha)([]int{s}, m)[0]; math.Abs(v/unit-want) > 1e-14*want {
					t.Errorf("α = %v, m = %d, S = %d: %v, want %v", alpha, m, s, v/unit, want)
				}
			}
		}
	}
	if scores, unit := ibnScores(math.Pi/100, 4); math.Abs(scores[1]/unit-ibnPosterior(math.Pi/100)([]int{1}, 4)[0]) > 1e-15 {
		t.Errorf("a strength with many decimals gives %v in units of %v", scores, unit)
	}
}

// foldedOf is the smaller count of every task of a panel after m rollouts.
func foldedOf(u *urns, panel, m int) []int {
	folded := make([]int, u.tasks)
	for task := range folded {
		i := (panel*u.tasks + task) * u.words
		s := pilot.Successes(u.paths[i:i+u.words], m)
		folded[task] = min(s, m-s)
	}
	return folded
}

// valueByTask is Σ v/L for the allocation made task by task.
func valueByTask(t *testing.T, scores []float64, total int) float64 {
	t.Helper()
	allocation, err := neyman.Allocate(scores, total)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, l := range allocation {
		sum += scores[i] / float64(l)
	}
	return sum
}
