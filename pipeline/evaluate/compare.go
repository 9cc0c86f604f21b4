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
	Evaluations   [2]string         `json:"evaluations"` // as they were named
	Estimates     [2]float64        `json:"estimates"`
	Errors        [2]float64        `json:"standard_errors"`
	Difference    float64           `json:"difference"` // first minus second
	StandardError float64           `json:"standard_error"`
	Interval      [2]float64        `json:"interval"` // 95%, for these tasks
	Tasks         *OverTasks        `json:"tasks"`    // for what the tasks are a sample of; null where they are of one cluster
	Resolves      float64           `json:"resolves"` // difference that is found four times in five with these budgets
	Budgets       [2]int            `json:"budgets"`
	Losses        evaluation.Losses `json:"losses"`  // of both, and what they can have done to the difference
	Resolve       *Resolution       `json:"resolve"` // null unless asked for
}

// Resolution is what it takes to find a difference four times in five.
type Resolution struct {
	Difference float64 `json:"difference"`
	Budgets    [2]int  `json:"budgets"`  // of each, in rollouts per task
	Rollouts   int     `json:"rollouts"` // of both, in all
}

// OverTasks is a difference where the tasks are a sample of what they stand for. Both
// models had the same ones, so that what makes a task hard for both cancels.
type OverTasks struct {
	StandardError float64    `json:"standard_error"`
	Interval      [2]float64 `json:"interval"`    // 95%
	Correlation   float64    `json:"correlation"` // of the two models, over samples of tasks
	Unpaired      float64    `json:"unpaired"`    // the standard error on two samples of tasks
	Clusters      int        `json:"clusters"`    // independent draws
}

// Compare returns the difference of two stored evaluations, and what it takes to find the difference resolve unless that is 0. It is a
// *RequestError if their tasks differ or if they have rollouts in common.
func (a Archive) Compare(names [2]string, resolve float64) (*Comparison, error) {
	results, err := a.comparable(names)
	if err != nil {
		return nil, err
	}
	if _, err := (Goal{Resolve: resolve}).standardError(); err != nil {
		return nil, err
	}
	first, second := results[0], results[1]
	d := first.Mean().Minus(second.Mean())
	c := &Comparison{
		Evaluations: names, Estimates: [2]float64{first.Estimate, second.Estimate}, Errors: [2]float64{first.StandardError, second.StandardError},
		Difference: d.Value, StandardError: d.StandardError, Interval: [2]float64{d.Low, d.High},
		Resolves: estimate.Resolved(d.StandardError), Budgets: [2]int{first.Budget, second.Budget},
	}
	c.Losses = lossesOf(first, second)
	if paired, err := pairedTasks(first, second); err != nil {
		return nil, err
	} else if paired != nil {
		c.Tasks = &OverTasks{paired.StandardError, [2]float64{paired.Low, paired.High}, paired.Correlation, paired.Unpaired, paired.Clusters}
	}
	if resolve > 0 {
		r := &Resolution{Difference: resolve, Budgets: d.Budgets(c.Budgets, resolve)}
		r.Rollouts = r.Budgets[0]*first.Tasks + r.Budgets[1]*second.Tasks
		c.Resolve = r
	}
	return c, nil
}

// comparable reads two evaluations of the same tasks that share no rollouts. The second
// may be the file of a result, a baseline that was kept.
func (a Archive) comparable(names [2]string) (results [2]*evaluation.Result, err error) {
	for i, name := range names {
		if results[i], err = a.storedOrFile(name); err != nil {
			return results, err
		}
	}
	first, second := results[0], results[1]
	if first.Benchmark != second.Benchmark || !slices.EqualFunc(first.Rows, second.Rows, func(x, y evaluation.Task) bool { return x.ID == y.ID && x.Share == y.Share }) {
		return results, requestf("they are of different tasks: %s with %d, %s with %d", first.Benchmark, len(first.Rows), second.Benchmark, len(second.Rows))
	}
	if first.Model == second.Model && first.Seed == second.Seed {
		return results, requestf("both are of %s under seed %d and share rollouts: their difference has no error; evaluate one again under another --seed", first.Model, first.Seed)
	}
	return results, nil
}

// pairedTasks is the difference over what the tasks are a sample of; nil where they are
// all of one cluster.
func pairedTasks(a, b *evaluation.Result) (*estimate.Paired, error) {
	if a.Clusters < 2 {
		return nil, nil
	}
	s := estimate.Sample{Shares: a.Shares(), Clusters: a.ClusterOf()}
	var others []float64
	for i := range a.Rows {
		s.Values, others = append(s.Values, a.Rows[i].Estimate), append(others, b.Rows[i].Estimate)
	}
	p, err := s.Minus(others)
	return &p, err
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
	fmt.Fprintf(&b, "                  %s\n%s", verdict, againLine(c.Losses, "lost           ", "difference"))
	if t := c.Tasks; t != nil {
		fmt.Fprintf(&b, "  other tasks     ± %.4f, %+.4f to %+.4f, for what these %d tasks, or clusters of them, are a\n                  sample of;\n                  ± %.4f if each model had tasks of its own\n", t.StandardError, t.Interval[0], t.Interval[1], t.Clusters, t.Unpaired)
	}
	fmt.Fprintf(&b, "  these budgets   find a difference of %.4f four times in five\n", c.Resolves)
	if r := c.Resolve; r != nil {
		fmt.Fprintf(&b, "  to find %-7.4g take %d and %d rollouts per task, %d in all; no more, since the\n                  allocation gets better with the budget\n", r.Difference, r.Budgets[0], r.Budgets[1], r.Rollouts)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
