package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/fleet"
	"speceval/internal/policy"
)

// fitted is a run of Uniform and what the calibrated fleet predicts of it.
type fitted struct {
	uniform
	mean, deviation float64 // seconds, of one run
	flops           float64 // expected
	usable          bool
}

// measureRepeats is how often the fleet executes each run, at b = 8; less at
// larger budgets.
const measureRepeats = 16

// measure executes every run of Uniform on the calibrated fleet.
func (c *calibration) measure(ctx context.Context) error {
	results := make([][]fitted, len(c.cells))
	err := each(c.cells, func(i int, cell *cell) error {
		var err error
		results[i], err = cell.measure(ctx)
		return err
	})
	for i, cell := range c.cells {
		c.fits[cell] = results[i]
	}
	return err
}

func (c *cell) measure(ctx context.Context) ([]fitted, error) {
	var all []fitted
	law := fleet.NewLaw(*c.model, c.final(), c.Profile)
	perRound := 0.0
	for i := range c.N() {
		perRound += law.Mean(i, c.cost)
	}
	for i, r := range c.uniform {
		f := fitted{uniform: r, usable: c.usable(i), flops: perRound * float64(r.budget)}
		repeats := max(4, measureRepeats*8/r.budget)
		if c.loop > 0 {
			repeats = measureRepeats // of which some loop
		}
		sum, squares := 0.0, 0.0
		for k := range repeats {
			x := c.execution(*c.model, c.final(), r.budget, 0, "errors")
			x.seed = x.seed.Index(k)
			s, err := x.seconds(ctx)
			if err != nil {
				return nil, err
			}
			sum, squares = sum+s, squares+s*s
		}
		n := float64(repeats)
		f.mean = sum / n
		f.deviation = math.Sqrt(math.Max(0, squares-sum*sum/n) / (n - 1))
		all = append(all, f)
	}
	return all, nil
}

// errors is errors.csv: every run of Uniform, published and simulated.
func (c *calibration) errors() []byte {
	rows := [][]string{{"benchmark", "model", "reference_budget", "budget", "strategy", "used", "time_seconds", "simulated_seconds", "simulated_sd", "useful_flops", "simulated_flops"}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, cell := range c.cells {
		for _, f := range c.fits[cell] {
			strategy := policy.UniformAtBudget.Name
			if f.equivalent {
				strategy = policy.UniformEquivalent.Name
			}
			rows = append(rows, []string{
				cell.Benchmark, cell.Model, strconv.Itoa(f.reference), strconv.Itoa(f.budget), strategy, strconv.FormatBool(f.usable),
				number(f.seconds), number(f.mean), number(f.deviation), number(f.uniform.flops), number(f.flops),
			})
		}
	}
	var b bytes.Buffer
	csv.NewWriter(&b).WriteAll(rows) // never fails on a buffer
	return b.Bytes()
}

// summary says how far times are off: by model and by budget, the median and
// the ninth decile of the logarithm's absolute value, its mean, and the sum of
// simulated times over that of published ones.
func (c *calibration) summary(log io.Writer) {
	names := []string{""}
	for _, m := range c.workload.Models {
		names = append(names, m.Model)
	}
	for _, equivalent := range []bool{false, true} {
		for _, name := range names {
			for _, b := range budgets {
				var off []float64
				published, simulated := 0.0, 0.0
				for _, cell := range c.cells {
					for _, f := range c.fits[cell] {
						if (name == "" || cell.Model == name) && f.reference == b && f.equivalent == equivalent {
							off = append(off, math.Log(f.mean/f.seconds))
							published, simulated = published+f.seconds, simulated+f.mean
						}
					}
				}
				fmt.Fprintf(log, "%-12s equivalent %-5t b %2d: %s, sum %+.2f%%\n", name, equivalent, b, spread(off), 100*(simulated/published-1))
			}
		}
	}
	c.usefulFLOPs(log)
	for _, b := range budgets {
		var published, simulated [2]float64
		for _, cell := range c.cells {
			for _, f := range c.fits[cell] {
				if k := map[bool]int{true: 1}[f.equivalent]; f.reference == b {
					published[k] += f.seconds
					simulated[k] += f.mean
				}
			}
		}
		fmt.Fprintf(log, "equivalent over original at b %2d: published %+.2f%%, simulated %+.2f%%\n", b, 100*(published[1]/published[0]-1), 100*(simulated[1]/simulated[0]-1))
	}
}

// usefulFLOPs says how much more useful FLOPs HBN takes than Uniform.
func (c *calibration) usefulFLOPs(log io.Writer) {
	for k, b := range budgets {
		var off []float64
		published, simulated, base, simulatedBase := 0.0, 0.0, 0.0, 0.0
		for _, cell := range c.cells {
			off = append(off, cell.gaps(cell.means(cell.lengths))[k])
			law := fleet.NewLaw(*cell.model, cell.final(), cell.Profile)
			for i, n := range cell.selected[b] {
				mean := law.Mean(i, cell.cost)
				simulated += float64(n) * mean
				simulatedBase += float64(b) * mean
			}
			for _, r := range cell.adaptive {
				if r.budget == b {
					published += r.flops / 2
				}
			}
			for _, r := range cell.uniform {
				if r.budget == b && !r.equivalent {
					base += r.flops
				}
			}
		}
		fmt.Fprintf(log, "useful FLOPs of HBN at b %2d: published %+.2f%%, simulated %+.2f%%; by profile %s\n", b, 100*(published/base-1), 100*(simulated/simulatedBase-1), spread(off))
	}
}

// spread is the size of deviations.
func spread(off []float64) string {
	size := make([]float64, len(off))
	for i, v := range off {
		size[i] = math.Abs(v)
	}
	slices.Sort(size)
	return fmt.Sprintf("median %.3f, 90%% %.3f, mean %+.3f", size[len(size)/2], size[len(size)*9/10], average(off))
}

func compareNames(a, b *cell) int {
	if c := strings.Compare(a.Benchmark, b.Benchmark); c != 0 {
		return c
	}
	return strings.Compare(a.Model, b.Model)
}
