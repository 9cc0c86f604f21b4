package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"speceval/internal/seed"
)

// column is a number that a suite says of HBN, in percent of Uniform's.
type column struct {
	name string
	of   func(s suite) float64
}

// columns are those of the paper's Tables 2 and 3.
var columns = []column{
	{"sync", func(s suite) float64 { return s.excess(1, execution.time) }},
	{"async", func(s suite) float64 { return s.excess(2, execution.time) }},
	{"sync, normalized", func(s suite) float64 { return s.normalized(1) }},
	{"async, normalized", func(s suite) float64 { return s.normalized(2) }},
	{"useful FLOPs", func(s suite) float64 { return s.excess(2, func(e execution) float64 { return e.useful }) }},
	{"wasted FLOPs", func(s suite) float64 {
		return 100 * s.sum(2, func(e execution) float64 { return e.wasted }) / s.sum(0, func(e execution) float64 { return e.useful })
	}},
	{"extra rollouts", func(s suite) float64 {
		return 100 * s.sum(2, func(e execution) float64 { return float64(e.extra) }) / s.sum(0, func(e execution) float64 { return float64(e.accepted) })
	}},
}

func (e execution) time() float64 { return e.seconds }

// sum is over all profiles, of the strategy with this number.
func (s suite) sum(strategy int, of func(execution) float64) float64 {
	sum := 0.0
	for _, profile := range s {
		sum += of(profile[strategy])
	}
	return sum
}

// excess is by how many percent a sum exceeds Uniform's.
func (s suite) excess(strategy int, of func(execution) float64) float64 {
	return 100 * (s.sum(strategy, of)/s.sum(0, of) - 1)
}

// normalized is the excess of times at Uniform's useful FLOPs.
func (s suite) normalized(strategy int) float64 {
	sum := 0.0
	for _, profile := range s {
		sum += profile[strategy].seconds * profile[0].useful / profile[strategy].useful
	}
	return 100 * (sum/s.sum(0, execution.time) - 1)
}

// report prints the columns at a budget: of the simulated suites, of those with the
// luck of the published one, and of that one.
func report(w io.Writer, budget int, all, lucky []suite, published suite) error {
	_, err := fmt.Fprintf(w, "b = %d, %d suites: mean ± standard deviation of one, the same given the published loops, published\n", budget, len(all))
	for _, c := range columns {
		if err == nil {
			_, err = fmt.Fprintf(w, "  %-18s %14s %14s %7.2f\n", c.name, spread(c, all), spread(c, lucky), c.of(published))
		}
	}
	return err
}

func spread(c column, all []suite) string {
	values := make([]float64, len(all))
	for r, s := range all {
		values[r] = c.of(s)
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	return fmt.Sprintf("%.2f ± %.2f", mean, deviation)
}

// withLuck are suites in which every execution of these profiles is one of those
// whose useful FLOPs are nearest to the published ones, drawn from their tenth part. An
// answer that loops to the limit costs as much as a hundred others, so that FLOPs say
// about how many a run had. Nothing else of the published runs is looked at.
func withLuck(all []suite, published suite, looping []int) []suite {
	random := seed.Root(masterSeed).Child("luck").Stream()
	lucky := make([]suite, len(all))
	for r := range lucky {
		lucky[r] = slices.Clone(all[r])
	}
	for _, i := range looping {
		own := make([][]execution, len(all))
		for r := range own {
			own[r] = make([]execution, len(strategies))
		}
		for k := range strategies {
			near := make([]execution, len(all))
			for r, s := range all {
				near[r] = s[i][k]
			}
			off := func(e execution) float64 { return math.Abs(math.Log(e.useful / published[i][k].useful)) }
			slices.SortStableFunc(near, func(a, b execution) int { return cmp.Compare(off(a), off(b)) })
			near = near[:max(1, len(near)/10)]
			for r := range own {
				own[r][k] = near[int(random.Float64()*float64(len(near)))]
			}
		}
		for r := range lucky {
			lucky[r][i] = own[r]
		}
	}
	return lucky
}
