//go:build drill

package estimate_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"speceval/internal/policy/seed"
	"speceval/method/neyman"
)

var small = flag.Bool("small", false, "100 evaluations of each law, in the place of 2,000")

// The laws of the table: twelve skewed ones, and even ones whose intervals are to stay short.
var (
	skewed = []law{
		zerosOf(50, 0.98, 1-0.97/0.98),
		zerosOf(30, 0.5, 0.02),
		zerosOf(60, 0.7, 0.02),
		zerosOf(30, 0.9, 0.005),
		onesOf(50, 0.02, 0.01),
		onesOf(40, 0.3, 0.02),
		points("50 of 0 (1%), .6 or .8", 50, []float64{0, 0.6, 0.8}, []float64{0.01, 0.5, 0.49}),
		points("40 of 0 (3%), .5 (7%) or 1", 40, []float64{0, 0.5, 1}, []float64{0.03, 0.07, 0.9}),
		beta("40 of Beta(.2, .4)", 40, 0.2, 0.4),
		beta("50 of Beta(.2, 4)", 50, 0.2, 4),
		about("50 from .4 to .95 ± .05, 0, 2 or 5% zeros", 50, func(x float64) float64 { return 0.4 + 0.55*x }, 0.05, func(i int) float64 {
			return []float64{0, 0.02, 0.05}[i%3]
		}),
		points("50 of .7 or .75, 1% zeros, 1% ones", 50, []float64{0, 1, 0.7, 0.75}, []float64{0.01, 0.01, 0.5, 0.48}),
	}
	evenly = []law{
		about("50 of 0 to 1", 50, func(float64) float64 { return 0.5 }, 0.5, none),
		points("50 of .4 or .6", 50, []float64{0.4, 0.6}, []float64{0.5, 0.5}),
		points("30 of .25, .5 (half) or .75", 30, []float64{0.25, 0.5, 0.75}, []float64{0.25, 0.5, 0.25}),
		beta("50 of Beta(5, 5)", 50, 5, 5),
		about("50 from .05 to .95 ± .05", 50, func(x float64) float64 { return 0.05 + 0.9*x }, 0.05, none),
		thirds(50),
	}
)

// policies are those that evaluations are drawn by.
var policies = []string{"Uniform", "HBN", "staged", "informed"}

func beta(name string, tasks int, a, b float64) law {
	return law{name, tasks, func(int) float64 { return a / (a + b) }, func(_ int, random *seed.Stream) float64 { return neyman.DrawBeta(a, b, random) }}
}

func none(int) float64 { return 0 }

// thirds is the shares of three questions that pass, of tasks from never to always.
func thirds(tasks int) law {
	p := func(i int) float64 { return (float64(i) + 0.5) / float64(tasks) }
	return law{fmt.Sprintf("%d from 0 to 1, in thirds", tasks), tasks, p, func(i int, random *seed.Stream) float64 {
		passed := 0.0
		for range 3 {
			if random.Float64() < p(i) {
				passed++
			}
		}
		return passed / 3
	}}
}

// TestGradedLaws draws evaluations of every law by every policy at b = 8 and 16, and by
// Uniform below, prints a table, and holds intervals and the bounds behind gates to the truth.
func TestGradedLaws(t *testing.T) {
	number := 2000
	if *small {
		number = 100
	}
	fmt.Println("| law | policy | b | covered | 5% bound above the mean | below | length |\n|---|---|---:|---:|---:|---:|---:|")
	for _, l := range slices.Concat(skewed, evenly) {
		for _, policy := range policies {
			for _, budget := range []int{2, 4, 8, 16} {
				if policy != "Uniform" && budget < 8 {
					continue
				}
				c := drawn(l, policy, budget, number)
				fmt.Printf("| %s | %s | %d | %.1f%% | %.1f%% | %.1f%% | %.4f |\n", l.name, policy, budget,
					c.percent(c.covered), c.percent(c.above), c.percent(c.below), c.length/float64(number))
				c.check(t, fmt.Sprintf("%s by %s at b = %d", l.name, policy, budget))
			}
		}
	}
}
