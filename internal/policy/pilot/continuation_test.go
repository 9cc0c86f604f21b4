package pilot_test

import (
	"math"
	"slices"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/policytest"
	"speceval/internal/policy/seed"
	"speceval/method/neyman"
)

// TestContinuationsAreThoseOfTheAllocator compares, draw by draw, the value of
// every policy's fast continuation with that of an allocation made task by task,
// whose ties go by task index (neyman.Allocate is itself compared with the
// paper's greedy procedure).
func TestContinuationsAreThoseOfTheAllocator(t *testing.T) {
	prior := must(neyman.NewPrior(16))
	bench := policy.Bench{Prior: prior}
	profiles := map[string][]float64{
		"two tasks":     {0.5, 0.125},
		"mostly sure":   {0, 1, 0, 0, 1, 1, 0.0009765625, 0, 0.25, 1},
		"equal tasks":   slices.Repeat([]float64{0.375}, 9),
		"hundred tasks": mixed(100),
	}
	for name, p := range profiles {
		for _, budget := range []int{2, 8, 33, 100} {
			random := seed.Root(1).Child(name).Index(budget).Stream()
			err := pilot.EachSweep(t.Context(), p, 40, budget-1, random, func(sw *pilot.Sweep, _ int) error {
				for sw.M() < sw.Rollouts() {
					sw.Advance()
					for _, of := range append(policy.List{policytest.Disagreement}, policy.All...) {
						if of.TwoStage == nil {
							continue
						}
						for _, strength := range strengths(of) {
							s := policy.Setting{Tasks: len(p), Budget: budget, M: sw.M(), Alpha: float64(strength) / 100}
							compare(t, name, of, s, policytest.ByTask(t, of.Name, strength), &bench, sw, p)
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// strengths are prior strengths in hundredths, a single 0 for policies without.
func strengths(of *policy.Policy) []int {
	if of.Strength {
		return []int{1, 13, 100}
	}
	return []int{0}
}

// compare holds a continuation, and the scores by successes, to the rule in plain
// words on draws of a sweep.
func compare(t *testing.T, name string, of *policy.Policy, s policy.Setting, byTask policytest.Scores, bench *policy.Bench, sw *pilot.Sweep, p []float64) {
	t.Helper()
	fast, plain := of.TwoStage.Continuation(bench, s), of.TwoStage.Allocates(bench.Prior, s)
	for draw := range min(sw.Draws(), 400/s.Budget) {
		successes := sw.Successes(draw)
		scores := byTask(t, successes, s.M)
		allocation := must(neyman.Allocate(scores, s.Tasks*(s.Budget-s.M)))
		want := 0.0
		for i, l := range allocation {
			want += p[i] * (1 - p[i]) / float64(l)
		}
		if got := fast.Value(sw, draw, s.Budget); math.Abs(got-want) > 1e-11*want {
			t.Fatalf("%s, %s, %+v, pilot %v: Σ v/L is %v, want %v (%v)", name, of.Name, s, successes, got, want, allocation)
		}
		counts, byCount := make([]int, s.M+1), make([]float64, s.M+1)
		for _, n := range successes {
			counts[n]++
		}
		plain(counts, byCount)
		for i, n := range successes { // up to a factor
			if x, y := byCount[n]*scores[0], byCount[successes[0]]*scores[i]; math.Abs(x-y) > 1e-11*x {
				t.Fatalf("%s, %s, %+v: scores by successes %v, by task %v", name, of.Name, s, byCount, scores)
			}
		}
	}
}

// mixed are probabilities of which a fifth are 0 or 1 and most of the others near
// them.
func mixed(tasks int) []float64 {
	random := seed.Root(9).Stream()
	var p []float64
	for i := range tasks {
		u := random.Float64()
		x := u * u * random.Float64()
		switch {
		case i%5 == 0:
			x = float64(i % 2)
		case i%2 == 0:
			x = 1 - x
		}
		p = append(p, x)
	}
	return p
}
