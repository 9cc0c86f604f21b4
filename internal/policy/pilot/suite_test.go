package pilot_test

import (
	"math"
	"slices"
	"testing"

	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/method/informed"
	"speceval/method/staged"
)

// TestSuitesAreUnbiased evaluates suites of two benchmarks with shares and floors. Biases are
// held to 4.5 standard errors and mean squared errors to 5 of theirs, as in
// TestSimulatedEvaluationsAreUnbiased.
func TestSuitesAreUnbiased(t *testing.T) {
	const evaluations, budget = 1500, 8
	var ps, shares []float64
	var cells []staged.Cell
	var priors informed.Suite
	want := 0.0
	for k, name := range []string{"aime24__model=qwen3_5_4b", "mmlu_science__subject_college_physics__model=qwen2_5_3b"} {
		own, siblings := published(t, name)
		weight := []float64{0.3, 0.7}[k] / float64(len(own))
		for _, p := range own {
			ps, shares, want = append(ps, p), append(shares, weight), want+weight*p
		}
		cells = append(cells, staged.Cell{Tasks: len(own), Least: 6 * len(own)})
		priors = append(priors, mustPrior(t, len(own), siblings[:2*k]...))
	}
	n := float64(len(ps))
	for k, cells := range [][]staged.Cell{nil, cells} {
		plan := staged.Plan{Pilots: 1, Weight: 0.1, Fractions: pilot.Fractions(4), TaskShares: shares, Cells: cells}
		stages := mustStages(t, len(ps), budget, plan)
		run := pilot.NewTrial(stages, priors.Posteriors()...)
		random := seed.Root(9).Index(k).Stream()
		var sum, squares, expected float64
		for range evaluations {
			draw := pilot.Independent(&random)
			variance := must(run.Run(ps, draw))
			off := estimate(t, stages, ps, draw) - want
			sum, squares, expected = sum+off, squares+off*off, expected+variance/(n*n)
			all := 0
			for _, n := range run.Rollouts() {
				all += n
			}
			if all != budget*len(ps) {
				t.Fatalf("%d rollouts of %d tasks", all, len(ps))
			}
		}
		bias, mse, expected := sum/evaluations, squares/evaluations, expected/evaluations
		if z := bias / math.Sqrt(expected/evaluations); math.Abs(z) > 4.5 {
			t.Errorf("cells %v: bias of %.2g, %.1f standard errors", cells, bias, z)
		}
		if ratio := mse / expected; math.Abs(ratio-1) > 5*math.Sqrt(2.0/evaluations) {
			t.Errorf("cells %v: the mean squared error is %.3f of the formula's", cells, ratio)
		}
	}
}

// TestBenchmarksOfASuiteAreApart holds the scores of a suite to the ones of its benchmarks.
func TestBenchmarksOfASuiteAreApart(t *testing.T) {
	rollouts, passes := []int{3, 3, 3, 2, 5, 1, 4}, []int{3, 0, 1, 2, 5, 1, 0}
	suite := informed.Suite{mustPrior(t, 3), mustPrior(t, 4, informed.Donor{Passes: []int{1, 2, 3, 0}, Rollouts: []int{4, 4, 4, 4}})}
	all, scores := suite.Posteriors(), make([]float64, 7)
	for range 2 {
		all.Restart()
		ok(t, all.Observe(rollouts, passes))
		all.Scores(scores)
	}
	var want []float64
	for k, prior := range suite {
		from, to := 3*k, 3+4*k
		own, post := make([]float64, to-from), prior.Posterior()
		ok(t, post.Observe(rollouts[from:to], passes[from:to]))
		post.Scores(own)
		want = append(want, own...)
	}
	if suite.Tasks() != 7 || !slices.Equal(scores, want) {
		t.Errorf("scores of %d tasks are %v, want %v", suite.Tasks(), scores, want)
	}
	if all.Observe(rollouts[:6], passes[:6]) == nil || all.Observe(append(rollouts, 1), append(passes, 1)) == nil {
		t.Error("counts of other tasks were taken")
	}
}
