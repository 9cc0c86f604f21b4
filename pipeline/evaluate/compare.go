package evaluate

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"speceval/internal/evaluation"
	"speceval/method/estimate"
)

// Comparison is two evaluations side by side.
type Comparison struct {
	Evaluations   [2]string   `json:"evaluations"` // as they were named
	Estimates     [2]float64  `json:"estimates"`
	Errors        [2]float64  `json:"standard_errors"`
	Difference    float64     `json:"difference"` // first minus second
	StandardError float64     `json:"standard_error"`
	Interval      [2]float64  `json:"interval"` // 95%
	Resolves      float64     `json:"resolves"` // difference that is found four times in five with these budgets
	Budgets       [2]int      `json:"budgets"`
	Resolve       *Resolution `json:"resolve"` // null unless asked for
}

// Resolution is what it takes to find a difference four times in five.
type Resolution struct {
	Difference float64 `json:"difference"`
	Budgets    [2]int  `json:"budgets"`  // of each, in rollouts per task
	Rollouts   int     `json:"rollouts"` // of both, in all
}

// Compare returns the difference of two stored evaluations, named as for Stored,
// and what it takes to find the difference resolve unless that is 0. It is a
// *RequestError if their tasks differ or if they have rollouts in common.
func Compare(out string, names [2]string, resolve float64) (*Comparison, error) {
	var results [2]*evaluation.Result
	for i, name := range names {
		var err error
		if results[i], _, err = Stored(out, name); err != nil {
			return nil, err
		}
	}
	if _, err := (Goal{Resolve: resolve}).standardError(); err != nil {
		return nil, err
	}
	a, b := results[0], results[1]
	if a.Benchmark != b.Benchmark || !slices.EqualFunc(a.Rows, b.Rows, func(x, y evaluation.Task) bool { return x.ID == y.ID }) {
		return nil, requestf("they are of different tasks: %s with %d, %s with %d", a.Benchmark, len(a.Rows), b.Benchmark, len(b.Rows))
	}
	if a.Model == b.Model && a.Seed == b.Seed {
		return nil, requestf("both are of %s under seed %d and share rollouts: their difference has no error; evaluate one again under another --seed", a.Model, a.Seed)
	}
	d := a.Mean().Minus(b.Mean())
	c := &Comparison{
		Evaluations: names, Estimates: [2]float64{a.Estimate, b.Estimate}, Errors: [2]float64{a.StandardError, b.StandardError},
		Difference: d.Value, StandardError: d.StandardError, Interval: [2]float64{d.Low, d.High},
		Resolves: estimate.Resolved(d.StandardError), Budgets: [2]int{a.Budget, b.Budget},
	}
	if resolve > 0 {
		r := &Resolution{Difference: resolve, Budgets: d.Budgets(c.Budgets, resolve)}
		r.Rollouts = r.Budgets[0]*a.Tasks + r.Budgets[1]*b.Tasks
		c.Resolve = r
	}
	return c, nil
}

// Text writes the comparison for people.
func (c *Comparison) Text(w io.Writer) error {
	var b strings.Builder
	for i, name := range c.Evaluations {
		fmt.Fprintf(&b, "%d  %.4f ± %.4f  %s\n", i+1, c.Estimates[i], c.Errors[i], name)
	}
	fmt.Fprintf(&b, "\n  difference      %+.4f ± %.4f, 95%% interval %+.4f to %+.4f\n", c.Difference, c.StandardError, c.Interval[0], c.Interval[1])
	verdict := "0 is inside: these rollouts do not tell them apart"
	if c.Interval[0] > 0 || c.Interval[1] < 0 {
		verdict = "0 is outside: they differ"
	}
	fmt.Fprintf(&b, "                  %s\n", verdict)
	fmt.Fprintf(&b, "  these budgets   find a difference of %.4f four times in five\n", c.Resolves)
	if r := c.Resolve; r != nil {
		fmt.Fprintf(&b, "  to find %-7.4g take %d and %d rollouts per task, %d in all; no more, since the\n                  allocation gets better with the budget\n", r.Difference, r.Budgets[0], r.Budgets[1], r.Rollouts)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
