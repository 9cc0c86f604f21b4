package replay_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
)

// suites are two models on three benchmarks; the second passes all tasks of one of them.
func suites() (all []profile.Profile) {
	for m, counts := range [][][]int{
		{{0, 5, 10, 9}, {1, 1, 5, 8, 5, 5, 2}, {10, 9, 10}},
		{{2, 5, 8, 9}, {0, 1, 0, 3, 5, 5, 2}, {10, 10, 10}},
	} {
		for k, passes := range counts {
			p := profile.Profile{Benchmark: fmt.Sprint("made", k), Model: fmt.Sprint("m", m), TestedK: 10, PassCounts: passes}
			for i := range passes {
				p.TaskIDs = append(p.TaskIDs, fmt.Sprint("t", i))
			}
			all = append(all, p)
		}
	}
	return all
}

func TestSuitesAreReplayed(t *testing.T) {
	s := small()
	s.Draws = 6400 // 25 evaluations of suites
	dir := ran(t, s, suites())
	rows := read[variance.Suite](t, dir, variance.SuiteFile)
	if want := len(s.Budgets) * (3 + 2) * (2 + 2 + 2); len(rows) != want {
		t.Fatalf("%d rows, want %d: every benchmark with variance, budget and way", len(rows), want)
	}
	type key struct {
		model, way, donors string
		budget             int32
	}
	groups := map[key][]variance.Suite{}
	for _, r := range rows {
		k := key{r.Model, r.Policy, r.Donors, r.Budget}
		groups[k] = append(groups[k], r)
	}
	for k, rows := range groups {
		var own, uniform, spent, all float64
		for _, r := range rows {
			own, uniform = own+r.VarianceRatio*r.UniformVariance, uniform+r.UniformVariance
			spent, all = spent+r.Rollouts*float64(r.NTasks), all+float64(r.NTasks*r.Budget)
			if least := 2 * float64(r.NTasks*r.Budget) / 3; k.way == variance.OneBudgetFloor && r.Rollouts*float64(r.NTasks) < least-1e-9 {
				t.Errorf("%+v is below its floor", r)
			}
		}
		if math.Abs(own/uniform-rows[0].SuiteRatio) > 1e-12 || math.Abs(spent-all) > 1e-9 {
			t.Errorf("%v: benchmarks come to a ratio of %v with %v rollouts, want %v with %v", k, own/uniform, spent, rows[0].SuiteRatio, all)
		}
		if free := groups[key{k.model, variance.OneBudget, k.donors, k.budget}]; k.way == variance.OneBudgetFloor && rows[0].SuiteRatio < free[0].SuiteRatio-0.05 {
			t.Errorf("%v: a floor makes %v of %v", k, rows[0].SuiteRatio, free[0].SuiteRatio)
		}
	}
	for _, r := range groups[key{"m0", variance.UniformTasks, "none", 6}] {
		if r.VarianceRatio != 1 || r.RatioSE != 0 || r.Rollouts != 6 || r.Draws != 0 || r.M != nil {
			t.Errorf("Uniform %+v", r)
		}
	}
	equalBenchmarks(t, groups[key{"m0", variance.UniformBenchmarks, "none", 6}])
}

// equalBenchmarks evaluates suites with equal rollouts of every benchmark, of which tasks at
// random have one more than the others, and holds the ratio to 4.5 standard errors.
func equalBenchmarks(t *testing.T, rows []variance.Suite) {
	t.Helper()
	const evaluations = 40_000
	random := rand.New(rand.NewPCG(3, 4))
	var square, fourth, truth, uniform float64
	profiles := suites()[:3]
	for _, p := range profiles {
		uniform += p.VarianceSum() / float64(p.N()*p.N()*6)
		for i := range p.N() {
			truth += p.P(i) / float64(p.N())
		}
	}
	for range evaluations {
		sum := 0.0
		for _, p := range profiles {
			q := float64(6*(4+7+3)) / float64(3*p.N())
			for i := range p.N() {
				n := int(q)
				if random.Float64() < q-math.Floor(q) {
					n++
				}
				passes := 0
				for range n {
					if random.Float64() < p.P(i) {
						passes++
					}
				}
				sum += float64(passes) / float64(n*p.N())
			}
		}
		off := (sum - truth) * (sum - truth) / uniform
		square, fourth = square+off/evaluations, fourth+off*off/evaluations
	}
	if se := math.Sqrt((fourth - square*square) / evaluations); math.Abs(square-rows[0].SuiteRatio) > 4.5*se {
		t.Errorf("equal rollouts of every benchmark leave %.4f ± %.4f, the closed form says %.4f", square, se, rows[0].SuiteRatio)
	}
}
