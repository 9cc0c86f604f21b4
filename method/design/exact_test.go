package design_test

import (
	"math"
	"testing"

	"speceval/method/design"
	"speceval/method/neyman"
)

// TestCurveMatchesEnumeration compares the risk of every pilot size with its
// exact expectation over all pilots of two and three tasks, at six standard
// errors of 64 replicates.
func TestCurveMatchesEnumeration(t *testing.T) {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []design.Settings{{Tasks: 2, Budget: 2}, {Tasks: 2, Budget: 6}, {Tasks: 3, Budget: 4}} {
		s.Panels, s.Replicates, s.Seed = 1024, 64, 3
		curve, err := design.Curve(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(curve) != s.Budget-1 {
			t.Fatalf("%d tasks, b = %d: %d pilot sizes, want all", s.Tasks, s.Budget, len(curve))
		}
		for i, d := range curve {
			coefficient := exactCoefficient(t, prior, s.Tasks, i+1, s.Budget)
			w := neyman.Weight(i+1, coefficient)
			want := neyman.Risk(s.Budget, i+1, w, coefficient)
			if d.Pilots != i+1 || !(math.Abs(d.Risk-want) < 6*d.RiskSE) || d.RiskSE > 0.002 {
				t.Errorf("%+v, exactly risk %v for m = %d", d, want, i+1)
			}
			if got := d.Risk * float64(d.Pilots) / float64(d.Budget); math.Abs(d.Weight-got) > 1e-12 {
				t.Errorf("%+v: the weight is not that of the risk, %v", d, got)
			}
		}
	}
}

// exactCoefficient is E[Σ v/L]/(N·v̄) over all pilots of m rollouts.
func exactCoefficient(t *testing.T, prior *neyman.Prior, tasks, m, budget int) float64 {
	posterior, work := prior.Pilot(m), prior.NewWork()
	likelihoods := nodeLikelihoods(m)
	successes := make([]int, tasks)
	expected := 0.0
	var visit func(task int)
	visit = func(task int) {
		if task < tasks {
			for s := range m + 1 {
				successes[task] = s
				visit(task + 1)
			}
			return
		}
		expected += probability(likelihoods, successes) * value(t, posterior, work, successes, m, budget)
	}
	visit(0)
	return expected / (float64(tasks) * neyman.MeanVariance)
}

// value is Σ v/L of one pilot, task by task.
func value(t *testing.T, posterior *neyman.Posterior, work *neyman.Work, successes []int, m, budget int) float64 {
	counts := make([]int, m+1)
	for _, s := range successes {
		counts[s]++
	}
	scores := posterior.Scores(counts, work)
	var vs []float64
	for _, s := range successes {
		vs = append(vs, scores.At(s))
	}
	allocation, err := neyman.Allocate(vs, len(vs)*(budget-m))
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, v := range vs {
		sum += v / float64(allocation[i])
	}
	return sum
}

// probability is that of a pilot, the mean over a fine midpoint grid of ξ and δ.
func probability(likelihoods [][]float64, successes []int) float64 {
	sum := 0.0
	for _, node := range likelihoods {
		p := 1.0
		for _, s := range successes {
			p *= node[s]
		}
		sum += p
	}
	return sum / float64(len(likelihoods))
}

// nodeLikelihoods are the probabilities of s = 0, …, m successes by node.
func nodeLikelihoods(m int) [][]float64 {
	const n = 200
	var all [][]float64
	for i := range n {
		for j := range n {
			xi, delta := (float64(i)+0.5)/n, (float64(j)+0.5)/n
			kappa := (1 - delta) / delta
			var node []float64
			for s := range m + 1 {
				node = append(node, betaBinomial(m, s, xi*kappa, (1-xi)*kappa))
			}
			all = append(all, node)
		}
	}
	return all
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
