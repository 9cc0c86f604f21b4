package policy

import (
	"fmt"
	"math"
	"testing"

	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/method/neyman"
)

// pilotScores are posterior means of p(1−p) of a pilot vector, task by task.
type pilotScores func(successes []int, m int) []float64

// TestPanelsMatchEnumeration compares the continuation coefficients of HBN and
// IBN for two tasks with their exact prior expectations.
func TestPanelsMatchEnumeration(t *testing.T) {
	for _, even := range []bool{false, true} {
		t.Run(fmt.Sprintf("even=%t", even), func(t *testing.T) { panelsMatchEnumeration(t, even) })
	}
}

func panelsMatchEnumeration(t *testing.T, even bool) {
	const tasks, panels, rounds = 2, 4096, 8
	cs := pilot.AllCandidates([]int{2, 5})
	alphas := []float64{0.05, 0.5, 1}
	estimates := map[string][][]float64{} // [candidate][round]
	for round := range rounds {
		random := seed.Root(5).Index(round)
		estimate := func(of *Policy) [][][]float64 {
			all, err := of.Design.OnPanels(t.Context(), Panels{
				Candidates: cs, Tasks: tasks, Draws: panels, Order: 16, Alphas: alphas, Even: even,
			}, random.Stream())
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		collect(estimates, "hbn", estimate(HBN)[0])
		for a, coefficients := range estimate(IBN) {
			collect(estimates, fmt.Sprint(alphas[a]), coefficients)
		}
	}
	for k, c := range cs {
		check := func(name string, want float64) {
			mean, se := pilot.MeanAndError(estimates[name][k])
			// t with 7 degrees of freedom: beyond 15 with probability 1.4e-6.
			if math.Abs(mean-want) > 15*se+1e-12 || se > 0.03*want {
				t.Errorf("%s, b = %d, m = %d: C = %v ± %v, exactly %v", name, c.Budget, c.M, mean, se, want)
			}
		}
		check("hbn", exactMass(t, c, hbnLaw(c.M), hbnPosterior(t))/(tasks*neyman.MeanVariance))
		for _, alpha := range alphas {
			check(fmt.Sprint(alpha), exactMass(t, c, betaLaw(c.M, alpha), ibnPosterior(alpha))/(tasks*alpha/(2*(2*alpha+1))))
		}
	}
}

func collect(estimates map[string][][]float64, name string, coefficients [][]float64) {
	if estimates[name] == nil {
		estimates[name] = make([][]float64, len(coefficients))
	}
	for k, c := range coefficients {
		estimates[name][k] = append(estimates[name][k], c...)
	}
}

// exactMass is E[Σ score/L] over the pilots of two tasks with the given law.
func exactMass(t *testing.T, c pilot.Candidate, law func(s1, s2 int) float64, scores pilotScores) float64 {
	sum := 0.0
	for s1 := range c.M + 1 {
		for s2 := range c.M + 1 {
			vs := scores([]int{s1, s2}, c.M)
			allocation, err := neyman.Allocate(vs, 2*(c.Budget-c.M))
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range vs {
				sum += law(s1, s2) * v / float64(allocation[i])
			}
		}
	}
	return sum
}

// betaLaw is the law of two tasks' pilots, independent given Beta(α, α).
func betaLaw(m int, alpha float64) func(s1, s2 int) float64 {
	return func(s1, s2 int) float64 {
		return betaBinomial(m, s1, alpha, alpha) * betaBinomial(m, s2, alpha, alpha)
	}
}

// hbnLaw is the law of two tasks' pilots under the reference prior, by a fine
// midpoint rule over ξ and δ.
func hbnLaw(m int) func(s1, s2 int) float64 {
	return func(s1, s2 int) float64 {
		const n = 200
		sum := 0.0
		for i := range n {
			for j := range n {
				xi, delta := (float64(i)+0.5)/n, (float64(j)+0.5)/n
				kappa := (1 - delta) / delta
				a, b := xi*kappa, (1-xi)*kappa
				sum += betaBinomial(m, s1, a, b) * betaBinomial(m, s2, a, b)
			}
		}
		return sum / (n * n)
	}
}

func betaBinomial(m, s int, a, b float64) float64 {
	x := 1.0
	for i := range m {
		if i < s {
			x *= (a + float64(i)) * float64(m-i) / float64(i+1)
		} else {
			x *= b + float64(i-s)
		}
		x /= a + b + float64(i)
	}
	return x
}

// ibnPosterior is Eq. 15 of the paper.
func ibnPosterior(alpha float64) pilotScores {
	return func(successes []int, m int) []float64 {
		var scores []float64
		for _, s := range successes {
			n := float64(m) + 2*alpha
			scores = append(scores, (float64(s)+alpha)*(float64(m-s)+alpha)/(n*(n+1)))
		}
		return scores
	}
}

// hbnPosterior is Eqs. 6 and 7 of the paper.
func hbnPosterior(t *testing.T) pilotScores {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	return func(successes []int, m int) []float64 {
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
}

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
