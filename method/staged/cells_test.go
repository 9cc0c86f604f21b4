package staged_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"speceval/method/staged"
)

// TestFloorsHold runs evaluations with scores that starve some cells: each has its floor in
// the end, the whole budget is spent, and no stage is divided better than by hand.
func TestFloorsHold(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		budget := 3 + random.IntN(8)
		plan := staged.Plan{Pilots: 1 + random.IntN(budget-1), Weight: 0.2, Fractions: []float64{0.3, 0.5, 1}}
		tasks := 0
		for range 2 + random.IntN(3) {
			n := 1 + random.IntN(4)
			plan.Cells = append(plan.Cells, staged.Cell{Tasks: n, Least: random.IntN(n*budget + 1)})
			tasks += n
		}
		s := begin(t, tasks, budget, plan)
		rollouts := make([]int, tasks)
		for {
			for i, n := range s.Sizes() {
				rollouts[i] += n
			}
			observe(t, s, make([]int, tasks)...)
			if s.Done() {
				break
			}
			scores := make([]float64, tasks)
			for i := range scores {
				scores[i] = math.Pow(random.Float64(), 6)
			}
			cannotImprove(t, s, plan.Cells, rollouts, scores)
			decide(t, s, scores...)
		}
		all, rest := 0, rollouts
		for _, c := range plan.Cells {
			sum := 0
			for _, n := range rest[:c.Tasks] {
				sum += n
			}
			if rest = rest[c.Tasks:]; sum < c.Least {
				t.Fatalf("round %d: %d rollouts in a cell with a floor of %d", round, sum, c.Least)
			}
			all += sum
		}
		if all != tasks*budget {
			t.Fatalf("round %d: %d rollouts, want %d", round, all, tasks*budget)
		}
	}
}

// cannotImprove moves a rollout from each task to each other, where floors allow it: what is
// left is divided so that none of these lowers Σ R²·score/n.
func cannotImprove(t *testing.T, s *staged.Stages, cells []staged.Cell, rollouts []int, scores []float64) {
	t.Helper()
	shares := make([]int, len(scores))
	ok(t, s.Ahead().Divide(scores, shares))
	var cell, sums []int
	for c, x := range cells {
		sums = append(sums, 0)
		for range x.Tasks {
			sums[c] += rollouts[len(cell)] + shares[len(cell)]
			cell = append(cell, c)
		}
	}
	worth := func(i, n int) float64 { return s.Rest()[i] * s.Rest()[i] * scores[i] / float64(n) }
	for i := range shares {
		for j := range shares {
			if i == j || shares[i] < 2 || shares[j] < 1 || cell[i] != cell[j] && sums[cell[i]] <= cells[cell[i]].Least {
				continue
			}
			if loss, gain := worth(i, shares[i]-1)-worth(i, shares[i]), worth(j, shares[j])-worth(j, shares[j]+1); gain > loss*(1+1e-9) {
				t.Fatalf("a rollout of task %d is better on task %d: shares %v, cells %v, scores %.4f", i, j, shares, cells, scores)
			}
		}
	}
}

// TestFloorsAreUnbiased goes through all outcomes of small evaluations with floors.
func TestFloorsAreUnbiased(t *testing.T) {
	plan := staged.Plan{Pilots: 1, Weight: 0.2, Fractions: []float64{0.5, 1}, Cells: []staged.Cell{{Tasks: 1, Least: 4}, {Tasks: 2, Least: 5}}}
	for number, score := range []scorer{cold, wrong, greedy, arbitrary(7)} {
		t.Run(fmt.Sprint(number), func(t *testing.T) { checkShape(t, 3, 4, plan, []float64{0.03, 0.5, 0.8}, score) })
	}
}

func TestCellsAreChecked(t *testing.T) {
	for want, cells := range map[string][]staged.Cell{
		"1 tasks fewer":  {{Tasks: 2}},
		"-1 tasks fewer": {{Tasks: 2}, {Tasks: 2}},
		"cell of 0":      {{Tasks: 0}, {Tasks: 3}},
		"floor of -1":    {{Tasks: 3, Least: -1}},
		"floor of 13":    {{Tasks: 3, Least: 13}},
	} {
		if _, err := staged.New(3, 4, staged.Plan{Pilots: 1, Fractions: []float64{1}, Cells: cells}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestFloorsCountAtBarriers resizes an evaluation below and to what its floors need.
func TestFloorsCountAtBarriers(t *testing.T) {
	s := begin(t, 3, 8, staged.Plan{Pilots: 2, Weight: 0.2, Fractions: []float64{1}, Cells: []staged.Cell{{Tasks: 1, Least: 6}, {Tasks: 2}}})
	observe(t, s, 1, 1, 1)
	if b := s.Barrier([]float64{0.2, 0.2, 0.2}); b.Least != 4+2 {
		t.Errorf("%d rollouts must be left, want 4 for the floor and one for each other task", b.Least)
	}
	if err := s.Resize(5); err == nil {
		t.Error("a floor was resized away")
	}
	ok(t, s.Resize(6))
	decide(t, s, 0, 0.2, 0.2)
	if !slices.Equal(s.Sizes(), []int{4, 1, 1}) {
		t.Errorf("sizes %v", s.Sizes())
	}
}
