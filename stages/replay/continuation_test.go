package replay

import (
	"math"
	"slices"
	"testing"

	"speceval/internal/pilot"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/neyman"
)

// pilotScores are the scores of a policy for a pilot vector, task by task.
type pilotScores func(t *testing.T, successes []int, m int) []float64

func enByTask(_ *testing.T, successes []int, m int) []float64 {
	var scores []float64
	for _, s := range successes {
		scores = append(scores, float64(s*(m-s)))
	}
	return scores
}

func ibnByTask(alphaHundredths int) pilotScores {
	return func(_ *testing.T, successes []int, m int) []float64 {
		var scores []float64
		for _, s := range successes {
			scores = append(scores, float64((100*s+alphaHundredths)*(100*(m-s)+alphaHundredths)))
		}
		return scores
	}
}

func hbnByTask(t *testing.T, successes []int, m int) []float64 {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]int, m+1)
	for _, s := range successes {
		counts[s]++
	}
	quadratic := prior.Pilot(m).Scores(counts, prior.NewWork())
	var scores []float64
	for _, s := range successes {
		scores = append(scores, quadratic.At(s))
	}
	return scores
}

// TestContinuationsAreThoseOfTheAllocator compares, draw by draw, the value of
// the fast continuations with that of an allocation made task by task, whose
// ties go by task index (neyman.Allocate is itself compared with the paper's
// greedy procedure).
func TestContinuationsAreThoseOfTheAllocator(t *testing.T) {
	alphas := []float64{0.01, 0.13, 1}
	tests := []struct {
		design variance.Design
		scores pilotScores
	}{
		{variance.Design{Policy: variance.TunedEN}, enByTask},
		{variance.Design{Policy: variance.TunedIBN, Alpha: &alphas[0]}, ibnByTask(1)},
		{variance.Design{Policy: variance.TunedIBN, Alpha: &alphas[1]}, ibnByTask(13)},
		{variance.Design{Policy: variance.TunedIBN, Alpha: &alphas[2]}, ibnByTask(100)},
		{variance.Design{Policy: variance.HBN}, hbnByTask},
		{variance.Design{Policy: disagreement}, disagreementByTask},
	}
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	take := policies{prior: prior}
	profiles := map[string][]float64{
		"two tasks":     {0.5, 0.125},
		"mostly sure":   {0, 1, 0, 0, 1, 1, 0.0009765625, 0, 0.25, 1},
		"equal tasks":   slices.Repeat([]float64{0.375}, 9),
		"hundred tasks": probabilities(benchProfile(100)),
	}
	for name, p := range profiles {
		for _, budget := range []int{2, 8, 33, 100} {
			random := seed.Root(1).Child(name).Index(budget).Stream()
			sw := newSweep(p, budget-1)
			sw.start(0, 40, oneStream(random))
			for sw.m < sw.rollouts {
				sw.advance()
				for _, tt := range tests {
					d := tt.design
					d.NTasks, d.M, d.Budget = int32(len(p)), int32(sw.m), int32(budget)
					policy, err := withWorked(&take, d)
					if err != nil {
						t.Fatal(err)
					}
					for draw := range min(sw.draws, 400/budget) {
						successes := successesOf(sw, draw)
						allocation, err := neyman.Allocate(tt.scores(t, successes, sw.m), len(p)*(budget-sw.m))
						if err != nil {
							t.Fatal(err)
						}
						want := 0.0
						for i, l := range allocation {
							want += sw.variances[i] / float64(l)
						}
						if got := policy.value(sw, draw, budget); math.Abs(got-want) > 1e-11*want {
							t.Fatalf("%s, %s, budget %d, pilot %v of %d: Σ v/L is %v, want %v (%v)",
								name, d.Policy, budget, successes, sw.m, got, want, allocation)
						}
					}
				}
			}
		}
	}
}

// successesOf counts the successes of every task in a draw, from the paths.
func successesOf(sw *sweep, draw int) []int {
	successes := make([]int, len(sw.variances))
	for _, task := range sw.passing {
		successes[task] = sw.m
	}
	for u, task := range sw.uncertain {
		successes[task] = pilot.Successes(sw.path(draw, u), sw.m)
	}
	return successes
}

// TestReplayMatchesEnumeration replays a profile small enough that every pilot
// outcome can be listed, and compares the ratios with the exact expectations,
// at five standard errors.
func TestReplayMatchesEnumeration(t *testing.T) {
	p := profileOf(64, 32, 8, 60)
	alpha := 0.13
	designs := []variance.Design{
		{Policy: variance.HBN, NTasks: 3, Budget: 7, M: 3, W: 0.4},
		{Policy: variance.TunedEN, NTasks: 3, Budget: 7, M: 4, W: 0.6},
		{Policy: variance.TunedIBN, NTasks: 3, Budget: 7, M: 2, W: 0.3, Alpha: &alpha},
	}
	byTask := []pilotScores{hbnByTask, enByTask, ibnByTask(13)}
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	ratios, _, err := replay(t.Context(), p, designs, prior, 40_000, seed.Root(3).Stream())
	if err != nil {
		t.Fatal(err)
	}
	if len(ratios) != 4 || ratios[0].Policy != variance.Oracle || ratios[0].RatioSE != 0 || ratios[0].M != nil {
		t.Fatalf("ratios start with %+v", ratios[0])
	}
	for i, d := range designs {
		coefficient := enumerate(t, probabilities(p), int(d.M), int(d.Budget), byTask[i])
		want := neyman.Risk(int(d.Budget), int(d.M), d.W, coefficient)
		got := ratios[i+1]
		if e := math.Abs(got.VarianceRatio-want) / got.RatioSE; !(e < 5) {
			t.Errorf("%s: ratio %v ± %v, exactly %v", d.Policy, got.VarianceRatio, got.RatioSE, want)
		}
		if got.RatioSE > 0.01 {
			t.Errorf("%s: standard error %v", d.Policy, got.RatioSE)
		}
	}
}

// enumerate is the expectation of Σ(v/L)/Σv over all pilot vectors.
func enumerate(t *testing.T, p []float64, m, budget int, scores pilotScores) float64 {
	all, expected := 0.0, 0.0
	for _, x := range p {
		all += x * (1 - x)
	}
	successes := make([]int, len(p))
	var visit func(task int, probability float64)
	visit = func(task int, probability float64) {
		if task < len(p) {
			for s := range m + 1 {
				successes[task] = s
				visit(task+1, probability*binomial(m, s, p[task]))
			}
			return
		}
		allocation, err := neyman.Allocate(scores(t, successes, m), len(p)*(budget-m))
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range allocation {
			expected += probability * p[i] * (1 - p[i]) / float64(l) / all
		}
	}
	visit(0, 1)
	return expected
}

func binomial(n, k int, p float64) float64 {
	x := math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
	for i := range k {
		x *= float64(n-i) / float64(i+1)
	}
	return x
}
