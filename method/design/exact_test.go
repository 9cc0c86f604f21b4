package design_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/BurntSushi/toml"

	"speceval/data"
	"speceval/method/design"
	"speceval/method/neyman"
)

// TestCurveMatchesEnumeration compares the risk of every pilot size with its
// exact expectation over all pilots of two and three tasks, at six standard
// errors of 64 replicates.
func TestCurveMatchesEnumeration(t *testing.T) {
	prior := must(neyman.NewPrior(16))
	for _, s := range []design.Settings{{Tasks: 2, Budget: 2}, {Tasks: 2, Budget: 6}, {Tasks: 3, Budget: 4}} {
		s.Panels, s.Replicates, s.Seed = 1024, 64, 3
		curve := must(design.Curve(t.Context(), s))
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
	allocation := must(neyman.Allocate(vs, len(vs)*(budget-m)))
	sum := 0.0
	for i, v := range vs {
		sum += v / float64(allocation[i])
	}
	return sum
}

// probability is the probability of a pilot, the mean over a fine midpoint grid of ξ and δ.
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

// The design for 100 tasks and 32 rollouts a task on average, and the standard
// error that it promises of a benchmark whose tasks are as the prior expects.
func Example() {
	d, err := design.Compute(context.Background(), design.Settings{Tasks: 100, Budget: 32})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d pilots of every task, then %d continuations among them\n", d.Pilots, d.Tasks*(d.Budget-d.Pilots))
	fmt.Printf("the pilot weighs %.2f\n", d.Weight)
	fmt.Printf("%.2f of Uniform's variance\n", d.Risk)
	// Output:
	// 10 pilots of every task, then 2200 continuations among them
	// the pilot weighs 0.29
	// 0.91 of Uniform's variance
}

// The risk of every pilot size at a small budget: few pilots say little of where
// the variance is, many leave little to give.
func ExampleCurve() {
	curve, err := design.Curve(context.Background(), design.Settings{Tasks: 50, Budget: 6})
	if err != nil {
		panic(err)
	}
	for _, d := range curve {
		fmt.Printf("m = %d: w = %.2f, risk %.3f\n", d.Pilots, d.Weight, d.Risk)
	}
	// Output:
	// m = 1: w = 0.17, risk 0.992
	// m = 2: w = 0.33, risk 0.981
	// m = 3: w = 0.49, risk 0.978
	// m = 4: w = 0.66, risk 0.986
	// m = 5: w = 0.83, risk 1.000
}

// FuzzCompute takes settings of any size: an error or a design within its bounds,
// and never a panic. Large ones are cut off by their context.
func FuzzCompute(f *testing.F) {
	f.Add(2, 2, 1, 1)
	f.Add(100, 32, 8, 2)
	f.Add(65_535, 4096, 0, 0)
	f.Add(3, 100, 5, 3)
	f.Add(-1, 1<<40, -7, 1<<50)
	f.Fuzz(func(t *testing.T, tasks, budget, panels, replicates int) {
		s := design.Settings{Tasks: tasks, Budget: budget, Panels: panels, Replicates: replicates}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		small := tasks < 200 && budget < 200 && panels > 0 && panels < 20 && replicates > 0 && replicates < 4
		if !small {
			cancel()
		}
		d, err := design.Compute(ctx, s)
		switch {
		case err != nil:
			if d != (design.Design{}) {
				t.Errorf("%+v: %+v beside %v", s, d, err)
			}
		case !small:
			t.Errorf("%+v: a design after the context has ended", s)
		case d.Tasks != tasks || d.Budget != budget || d.Pilots < 1 || d.Pilots >= budget || !(d.Weight > 0 && d.Weight < 1 && d.Risk > 0):
			t.Errorf("%+v: %+v", s, d)
		}
	})
}

// TestScheduleIsThePapers holds the designs against Table 5 of the paper. Risks
// are flat about the best pilot: the paper's must be as good as ours within five
// standard errors, and have the weight that is printed, to rounding and five
// standard errors of ours and of an estimate by the paper's 65,536 panels, whose
// risk is uncertain by 0.0025 at most.
func TestScheduleIsThePapers(t *testing.T) {
	var targets struct {
		Table5 struct {
			Tasks []int       `toml:"n_tasks"`
			M     [][]int     `toml:"m"`
			W     [][]float64 `toml:"w"`
		} `toml:"table5_hbn_schedule"`
	}
	if _, err := toml.Decode(string(data.PaperTargets()), &targets); err != nil {
		t.Fatal(err)
	}
	paper, same := targets.Table5, 0
	for i, tasks := range paper.Tasks {
		for j, budget := range []int{8, 16, 32, 64} {
			m, w := paper.M[i][j], paper.W[i][j]
			curve := must(design.Curve(t.Context(), design.Settings{Tasks: tasks, Budget: budget, Panels: 256}))
			least := curve[0]
			for _, d := range curve {
				if d.Risk < least.Risk {
					least = d
				}
			}
			if least.Pilots == m {
				same++
			}
			at := curve[m-1]
			if at.Pilots != m || at.Risk-least.Risk > 5*at.RiskSE {
				t.Errorf("%d tasks, b = %d: the paper's pilot %d has %+v, the least is %+v", tasks, budget, m, at, least)
			}
			tolerance := 0.005 + 5*math.Hypot(at.RiskSE, 0.0025)*float64(m)/float64(budget)
			if math.Abs(at.Weight-w) > tolerance {
				t.Errorf("%d tasks, b = %d: weight %.4f ± %.4f, the paper has %v", tasks, budget, at.Weight, tolerance, w)
			}
		}
	}
	if same < 10 {
		t.Errorf("the pilot of %d designs of 20 is the paper's, want half and more", same)
	}
	t.Logf("the pilot of %d designs of 20 is the paper's", same)
}
