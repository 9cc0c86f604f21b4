package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"speceval/internal/evaluation"
	"speceval/method/estimate"
)

// comparedEvaluations are two evaluations side by side.
type comparedEvaluations struct {
	Evaluations   [2]string   `json:"evaluations"`
	Estimates     [2]float64  `json:"estimates"`
	Errors        [2]float64  `json:"standard_errors"`
	Difference    float64     `json:"difference"` // first minus second
	StandardError float64     `json:"standard_error"`
	Interval      [2]float64  `json:"interval"` // 95%
	Resolves      float64     `json:"resolves"` // difference that is found four times in five with these budgets
	Budgets       [2]int      `json:"budgets"`
	Resolve       *resolution `json:"resolve"` // null unless asked for
}

// resolution is what it takes to find a difference.
type resolution struct {
	Difference float64 `json:"difference"`
	Budgets    [2]int  `json:"budgets"`  // of each, in rollouts per task
	Rollouts   int     `json:"rollouts"` // of both, in all
}

// evaluateCompare prints the difference of two evaluations.
func (s *session) evaluateCompare(words []string) error {
	if err := wantWords(words, 2, 2, "two evaluations"); err != nil {
		return err
	}
	cfg, err := s.evaluationConfig()
	if err != nil {
		return err
	}
	var results [2]*evaluation.Result
	for i, word := range words {
		if results[i], _, err = s.storedResult(cfg.Experiment.Out, word); err != nil {
			return err
		}
	}
	if _, err := s.evaluate.target(); err != nil {
		return err
	}
	c, err := compareEvaluations(results, s.evaluate.resolve)
	if err != nil {
		return &usageError{err}
	}
	c.Evaluations = [2]string(words)
	if s.json {
		return writeJSON(s.stdout, c)
	}
	return c.text(s.stdout)
}

// compareEvaluations is the difference of two evaluations of the same tasks that
// have no rollouts in common.
func compareEvaluations(results [2]*evaluation.Result, resolve float64) (*comparedEvaluations, error) {
	a, b := results[0], results[1]
	if a.Benchmark != b.Benchmark || !slices.EqualFunc(a.Rows, b.Rows, func(x, y evaluation.Task) bool { return x.ID == y.ID }) {
		return nil, fmt.Errorf("they are of different tasks: %s with %d, %s with %d", a.Benchmark, len(a.Rows), b.Benchmark, len(b.Rows))
	}
	if a.Model == b.Model && a.Seed == b.Seed {
		return nil, fmt.Errorf("both are of %s under seed %d and share rollouts: their difference has no error; evaluate one again under another --seed", a.Model, a.Seed)
	}
	d := a.Mean().Minus(b.Mean())
	c := &comparedEvaluations{
		Estimates: [2]float64{a.Estimate, b.Estimate}, Errors: [2]float64{a.StandardError, b.StandardError},
		Difference: d.Value, StandardError: d.StandardError, Interval: [2]float64{d.Low, d.High},
		Resolves: estimate.Resolved(d.StandardError), Budgets: [2]int{a.Budget, b.Budget},
	}
	if resolve > 0 {
		r := &resolution{Difference: resolve, Budgets: d.Budgets(c.Budgets, resolve)}
		r.Rollouts = r.Budgets[0]*a.Tasks + r.Budgets[1]*b.Tasks
		c.Resolve = r
	}
	return c, nil
}

func (c *comparedEvaluations) text(w io.Writer) error {
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
