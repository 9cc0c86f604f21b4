package evaluate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
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

// Resolution is the need for finding a difference four times in five.
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
	if _, err := standardError(evaluation.Spec{Resolve: resolve}); err != nil {
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

// comparable reads two evaluations of the same tasks that share no rollouts. Each may be a
// log, or the file of a result, a baseline that was kept.
func (a Archive) comparable(names [2]string) (results [2]*evaluation.Result, err error) {
	for i, name := range names {
		if results[i], err = a.storedOrFile(name); err != nil {
			return results, err
		}
	}
	if results[1].Outside() {
		results[1] = inOrder(results[1], idsOf(results[0]), results[0].Benchmark)
	} else {
		results[0] = inOrder(results[0], idsOf(results[1]), results[1].Benchmark)
	}
	first, second := results[0], results[1]
	if first.Benchmark != second.Benchmark || !slices.EqualFunc(first.Rows, second.Rows, func(x, y evaluation.Task) bool { return x.ID == y.ID && x.Share == y.Share }) {
		return results, requestf("they are of different tasks: %s with %d, %s with %d", first.Benchmark, len(first.Rows), second.Benchmark, len(second.Rows))
	}
	if shareRollouts(first, second) {
		return results, requestf("both are of %s under seed %d and share rollouts: their difference has no error; evaluate one again under another --seed", first.Model, first.Seed)
	}
	return results, nil
}

// idsOf are the ids of the tasks.
func idsOf(r *evaluation.Result) (ids []string) {
	for _, t := range r.Rows {
		ids = append(ids, t.ID)
	}
	return ids
}

// shareRollouts reports whether evaluations have rollouts in common. Those of another program
// follow from no seed; one that extends another one has the rollouts of that.
func shareRollouts(a, b *evaluation.Result) bool {
	alike := a.Model == b.Model && a.Seed == b.Seed
	return alike && (!a.Outside() && !b.Outside() || a.Extends+b.Extends != "" || reflect.DeepEqual(a.Rows, b.Rows))
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

// Gating is the question whether a model is no worse than a baseline.
type Gating struct {
	Margin    float64 // δ: how much worse still passes
	OverTasks bool    // ask it of what the tasks are a sample of, and not of these tasks
}

// Gated is the outcome of a gate.
type Gated struct {
	Evaluations [2]string  `json:"evaluations"` // the model's, the baseline's
	Estimates   [2]float64 `json:"estimates"`
	Rollouts    [2]int     `json:"rollouts"`

	Margin   float64    `json:"margin"`
	Question string     `json:"question"` // of these tasks, or of what they are a sample of
	Outcome  string     `json:"outcome"`  // no worse, worse, or undecided
	Bounds   [2]float64 `json:"bounds"`   // of the difference, model less baseline, each with the rate
	Rate     float64    `json:"rate"`     // of errors of either bound, at this look
	Overall  float64    `json:"error_rate"`
	Look     int        `json:"look"`
	Looks    int        `json:"looks"`

	Difference    float64 `json:"difference"`
	StandardError float64 `json:"standard_error"`
	Power         float64 `json:"power"` // with which a model as good as the baseline passes at this error
	Sign          int     `json:"sign"`  // −1 below the baseline, +1 above, 0 neither shown

	Losses evaluation.Losses `json:"losses"` // of both, and what they can have done to the difference
}

// The questions of a gate.
const (
	theseTasks = "these tasks"
	otherTasks = "what the tasks are a sample of"
)

// Passed reports whether the model is no worse than the margin.
func (g *Gated) Passed() bool { return g.Outcome == estimate.NoWorse.String() }

// Gate asks whether the model of the first of two stored evaluations is no worse than
// that of the second, which may be a file of a result. It is a *RequestError if they are
// not to be compared.
func (a Archive) Gate(names [2]string, q Gating) (*Gated, error) {
	results, err := a.comparable(names)
	if err != nil {
		return nil, err
	}
	return q.ask(names, results, 1, 1)
}

// ask judges two evaluations at a look.
func (q Gating) ask(names [2]string, results [2]*evaluation.Result, look, looks int) (*Gated, error) {
	a, b := results[0], results[1]
	difference, question := a.Mean().Bounded().Minus(b.Mean().Bounded()), theseTasks
	if q.OverTasks {
		paired, err := pairedTasks(a, b)
		if err != nil {
			return nil, err
		}
		if paired == nil {
			return nil, requestf("all tasks are of one cluster: what they stand for cannot be told from them")
		}
		difference, question = paired.Bounded, otherTasks
	}
	gate := estimate.Gate{Margin: q.Margin, Look: look, Looks: looks}
	v, err := gate.Judge(difference)
	if err != nil {
		return nil, &RequestError{err}
	}
	power, err := gate.Power(difference.StandardError)
	if err != nil {
		return nil, err
	}
	return &Gated{
		Evaluations: names, Estimates: [2]float64{a.Estimate, b.Estimate}, Rollouts: [2]int{a.Rollouts, b.Rollouts},
		Margin: q.Margin, Question: question, Outcome: v.Outcome.String(), Bounds: [2]float64{v.Low, v.High},
		Rate: v.Rate, Overall: estimate.GateRate, Look: look, Looks: looks,
		Difference: difference.Value, StandardError: difference.StandardError, Power: power, Sign: v.Sign,
		Losses: lossesOf(a, b),
	}, nil
}

// mostGateLooks is how often a live gate asks at most: each look has twice the rollouts
// of the one before.
const mostGateLooks = 4

// looks are the budgets of a live gate up to one, the largest first halved.
func looks(budget int) (budgets []int) {
	for b := budget; b >= 4 && len(budgets) < mostGateLooks; b /= 2 {
		budgets = append([]int{b}, budgets...)
	}
	if len(budgets) == 0 {
		return []int{budget}
	}
	return budgets
}

// GateLive evaluates the model until it is known whether it is no worse than a stored
// baseline: at an eighth of the request's budget, and where that does not decide at a
// quarter, at half, and at all of it. Each look is a complete evaluation that extends the
// one before. The error rates are those of all looks together. The error is an
// *evaluation.PausedError if the same request goes on from there.
func (s *Subject) GateLive(ctx context.Context, baseline string, q Gating, r evaluation.Spec, h Host) (*Gated, error) {
	base, err := s.archive().storedOrFile(baseline)
	if err != nil {
		return nil, err
	}
	if r.Budget == 0 || r.TargetSE != 0 || r.Resolve != 0 || r.MaxRollouts != 0 || r.MaxTokens != 0 || r.Plan != "" {
		return nil, requestf("gate --live wants a --budget: the most that it may spend")
	}
	var ids []string
	for _, t := range s.tasks.Tasks {
		ids = append(ids, t.ID)
	}
	base = inOrder(base, ids, s.tasks.ID)
	if err := s.sameTasks(base); err != nil {
		return nil, requestf("the baseline %s: %w", baseline, err)
	}
	if setup := s.setup(r.Seed); base.Model == setup.Model && base.Seed == setup.Seed && !base.Outside() {
		return nil, requestf("the baseline is of %s under seed %d, too: take another --seed", setup.Model, setup.Seed)
	}
	budgets := looks(r.Budget)
	var result *evaluation.Result
	var folder string
	for k, budget := range budgets {
		if k == 0 {
			first := r
			first.Budget = budget
			result, folder, err = s.Evaluate(ctx, first, h)
		} else {
			result, folder, err = s.extend(ctx, result, folder, budget, h)
		}
		if err != nil {
			return nil, err
		}
		g, err := q.ask([2]string{folder, baseline}, [2]*evaluation.Result{result, base}, k+1, len(budgets))
		if err != nil || g.Outcome != estimate.Undecided.String() || k+1 == len(budgets) {
			return g, err
		}
		h.Say(fmt.Sprintf("look %d of %d, %d rollouts per task: undecided, the difference is %+.4f with bounds %+.4f to %+.4f", k+1, len(budgets), budget, g.Difference, g.Bounds[0], g.Bounds[1]))
	}
	return nil, errors.New("a gate without looks")
}

// Text writes the verdict for people.
func (g *Gated) Text(w io.Writer) error {
	var b strings.Builder
	for i, name := range g.Evaluations {
		fmt.Fprintf(&b, "%s  %.4f by %d rollouts  %s\n", [2]string{"model   ", "baseline"}[i], g.Estimates[i], g.Rollouts[i], name)
	}
	fmt.Fprintf(&b, "\n  difference  %+.4f ± %.4f, bounds %+.4f and %+.4f, for %s\n", g.Difference, g.StandardError, g.Bounds[0], g.Bounds[1], g.Question)
	fmt.Fprintf(&b, "%s  verdict     %s\n", againLine(g.Losses, "lost       ", "difference"), g.words())
	fmt.Fprintf(&b, "  errors      a model that is worse by %g passes in %.3g%% of the cases at most", g.Margin, 100*g.Overall)
	if g.Looks > 1 {
		fmt.Fprintf(&b, ", over all %d looks, of which this is look %d", g.Looks, g.Look)
	}
	fmt.Fprintf(&b, ";\n              one as good as the baseline passes in %.0f%%\n", 100*g.Power)
	_, err := io.WriteString(w, b.String())
	return err
}

func (g *Gated) words() string {
	switch g.Outcome {
	case estimate.NoWorse.String():
		return fmt.Sprintf("no worse than %g below the baseline%s", g.Margin, map[int]string{-1: ", though below it", 0: "", 1: ": above it"}[g.Sign])
	case estimate.Worse.String():
		return fmt.Sprintf("worse, by more than %g", g.Margin)
	}
	return fmt.Sprintf("undecided: these rollouts do not tell whether it is worse by %g", g.Margin)
}

// Check checks, before anything is read or spent, whether a gate can be asked.
func (q Gating) Check() error {
	if !(q.Margin >= 0 && q.Margin < 1) || math.IsNaN(q.Margin) {
		return requestf("--no-worse-than %v: want a number from 0 to 1, such as 0.02 for two points", q.Margin)
	}
	return nil
}

// OpenLive is the subject of a live gate: the model on the baseline's benchmarks, none for
// those that the baseline names.
func (a Archive) OpenLive(baseline string, benchmarks []string, model string) (*Subject, error) {
	base, err := Archive{Config: a.Config}.storedOrFile(baseline) // of which GateLive warns
	if err != nil {
		return nil, err
	}
	b, err := again(a.Config, base, benchmarks)
	if err != nil {
		return nil, err
	}
	b.Warn = a.Warn
	return b.With(model)
}

// againLine is the line about rollouts that were asked for again; "" where there are none.
func againLine(l evaluation.Losses, label, to string) string {
	if l.AskedAgain == 0 {
		return ""
	}
	return fmt.Sprintf("  %s %s\n", label, show.AgainText(l, to))
}

// lossesOf are the losses behind a difference.
func lossesOf(a, b *evaluation.Result) (l evaluation.Losses) {
	l.Add(a.Losses, 1)
	l.Add(b.Losses, -1)
	return l
}
