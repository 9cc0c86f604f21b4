//go:build drill

package estimate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"speceval/internal/policy/seed"
	"speceval/method/ranking"
	"speceval/method/staged"
)

// TestPairs draws pairs of models of the paper on each benchmark, coupled in several ways,
// and reports the variance of their difference relative to independent rollouts by Uniform, and
// the coverage of its interval.
func TestPairs(t *testing.T) {
	of := map[string]law{} // by benchmark, until it has a partner
	var both [][2]law
	for _, l := range published(t) {
		benchmark, _, _ := strings.Cut(l.name, "__model=")
		if first, there := of[benchmark]; there && first.tasks == l.tasks {
			both = append(both, [2]law{first, l})
			delete(of, benchmark)
		} else {
			of[benchmark] = l
		}
	}
	repeats := 40
	if *small {
		repeats = 6
	}
	for _, budget := range []int{8, 16, 32} {
		s := must(staged.New(2, budget, ranking.Paired(budget)))
		var stages []int
		var weights []float64
		for {
			stages, weights = append(stages, s.Sizes()[0]), append(weights, s.Weights()[0])
			ok(t, s.Observe([]int{0, 0}))
			if s.Done() {
				break
			}
			ok(t, s.Decide([]float64{1, 1}))
		}
		for name, c := range couples {
			var n, covered, pairs, uniform, bias, squares float64
			for _, two := range both {
				tasks := two[0].tasks
				var a, b []float64
				truth, alone, coupled := 0.0, 0.0, 0.0
				for i := range tasks {
					p, q := two[0].mean(i), two[1].mean(i)
					a, b = append(a, p), append(b, q)
					truth += (p - q) / float64(tasks)
					alone, coupled = alone+p*(1-p)+q*(1-q), coupled+c.variance(p, q)
				}
				alone /= float64(tasks * tasks * budget)
				uniform += coupled / float64(tasks*tasks*budget) / alone
				for k := range repeats {
					random := seed.Root(5).Child(two[0].name).Child(name).Index(k).Stream()
					d, exact := contest(t, stages, weights, a, b, c.draw, c.variance, &random)
					n, pairs = n+1, pairs+exact/alone
					z := (d.Value - truth) / math.Sqrt(exact)
					bias, squares = bias+z, squares+z*z
					if d.Low <= truth && truth <= d.High {
						covered++
					}
				}
			}
			bias, covered = bias/math.Sqrt(n), covered/n
			fmt.Printf("b = %d, %s: variance %.3f of Uniform's without pairs (%.3f by Uniform in pairs); coverage %.1f%% ± %.1f, bias %+.1f s.e., squared errors %.3f of the variance; %.0f drawn\n",
				budget, name, pairs/n, uniform/float64(len(both)), 100*covered, 100*math.Sqrt(.05*.95/n), bias, squares/n, n)
			if covered < 0.94 || math.Abs(bias) > 3.5 {
				t.Errorf("b = %d, %s: a coverage of %v, a bias of %v s.e.", budget, name, covered, bias)
			}
		}
	}
}
