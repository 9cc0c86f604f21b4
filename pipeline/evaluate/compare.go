package evaluate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/internal/profile"
	"speceval/internal/store/rowfile"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// Compare compares the evaluations, logs and profiles that words name, each with each, and says
// what it takes to find the difference resolve unless that is 0. It is a *RequestError if their
// tasks differ or if two have rollouts in common.
func (a Archive) Compare(words []string, resolve float64) (*show.Comparison, error) {
	if _, err := standardError(evaluation.Spec{Resolve: resolve}); err != nil {
		return nil, err
	}
	c, warn := new(show.Comparison), a.Warn
	a.Warn = func(message string) {
		c.Warnings = append(c.Warnings, message)
		Archive{Warn: warn}.warn(message)
	}
	for _, word := range words {
		names, results, err := a.sources(word)
		if err != nil {
			return nil, err
		}
		c.Evaluations, c.Results = append(c.Evaluations, names...), append(c.Results, results...)
	}
	called := make(map[string]bool)
	for _, r := range c.Results {
		called[r.Benchmark] = true
	}
	if len(called) > 1 {
		a.Warn("they are of the same tasks by their ids, and call the benchmark differently: " + strings.Join(slices.Sorted(maps.Keys(called)), ", "))
	}
	if err := aligned(c.Results); err != nil {
		return nil, err
	}
	for _, r := range c.Results {
		c.Estimates, c.Errors = append(c.Estimates, r.Estimate), append(c.Errors, r.StandardError)
		c.Budgets, c.Rollouts = append(c.Budgets, r.Budget), append(c.Rollouts, r.Rollouts)
	}
	rate := 0.05 / float64(len(c.Results)*(len(c.Results)-1)) // of each end of the interval of a pair
	for i := range c.Results {
		for k := i + 1; k < len(c.Results); k++ {
			p, err := pairOf(c.Results, i, k, rate, resolve)
			if err != nil {
				return nil, err
			}
			c.Pairs = append(c.Pairs, *p)
		}
	}
	c.SetTiers()
	if len(c.Results) == 2 {
		c.Pair, c.Pairs = &c.Pairs[0], nil
	}
	return c, nil
}

// pairOf is the difference of two of the results.
func pairOf(all []*evaluation.Result, i, k int, rate, resolve float64) (*show.Pair, error) {
	first, second := all[i], all[k]
	d := first.Mean().Minus(second.Mean())
	p := &show.Pair{
		Of: [2]int{i + 1, k + 1}, Difference: d.Value, StandardError: d.StandardError, Interval: [2]float64{d.Low, d.High},
		Resolves: estimate.Resolved(d.StandardError), Losses: lossesOf(first, second),
	}
	low, high := d.Low, d.High
	if len(all) > 2 {
		low, high = first.Mean().Bounded().Minus(second.Mean().Bounded()).Bounds(rate)
	}
	p.Apart = low > 0 || high < 0
	if paired, err := pairedTasks(first, second); err != nil {
		return nil, err
	} else if paired != nil {
		p.Tasks = &show.OverTasks{StandardError: paired.StandardError, Interval: [2]float64{paired.Low, paired.High}, Correlation: paired.Correlation, Unpaired: paired.Unpaired, Clusters: paired.Clusters}
	}
	if resolve > 0 {
		r := &show.Resolution{Difference: resolve, Budgets: d.Budgets([2]int{first.Budget, second.Budget}, resolve)}
		r.Rollouts = r.Budgets[0]*first.Tasks + r.Budgets[1]*second.Tasks
		p.Resolve = r
	}
	return p, nil
}

// sources are the results that a word names: a stored evaluation, the file of a result, a log, or
// the profiles of a file, of which FILE#MODEL is one.
func (a Archive) sources(word string) (names []string, results []*evaluation.Result, err error) {
	path, model, one := strings.Cut(word, "#")
	profiles, fault := profile.Read(path)
	var missing *rowfile.MissingColumnError
	if ext := filepath.Ext(path); fault != nil && (ext != ".csv" && ext != ".parquet" || errors.As(fault, &missing) && ext == ".parquet") {
		r, err := a.storedOrFile(word)
		return []string{word}, []*evaluation.Result{r}, err
	}
	if fault != nil {
		return nil, nil, &RequestError{fault}
	}
	prior, err := neyman.NewPrior(a.Config.Replay.QuadratureOrder)
	if err != nil {
		return nil, nil, err
	}
	var others []string
	for _, p := range profiles {
		if one && p.Model != model && p.Name() != model {
			others = append(others, p.Name())
			continue
		}
		rewards := make([][]float64, p.N())
		for i := range rewards {
			rewards[i] = slices.Concat(slices.Repeat([]float64{1}, p.PassCounts[i]), make([]float64, p.Rollouts(i)-p.PassCounts[i]))
		}
		r, err := evaluation.Counted(p.Benchmark, p.Model, p.TaskIDs, rewards, prior)
		if err != nil {
			return nil, nil, requestf("%s: %w", path, err)
		}
		names, results = append(names, path+"#"+p.Model), append(results, r)
	}
	if len(results) == 0 {
		return nil, nil, requestf("%s has no profile of %s, but of %s", path, model, brief(others))
	}
	return names, results, nil
}

// aligned is an error unless all results are of the same tasks, and none shares rollouts with
// another. Those of other programs are put into the order of tasks of the first that is not.
func aligned(all []*evaluation.Result) error {
	if len(all) < 2 {
		return requestf("there is nothing to compare with: name two or more evaluations, logs or profiles")
	}
	first := all[max(0, slices.IndexFunc(all, func(r *evaluation.Result) bool { return !r.Outside() }))]
	ids := idsOf(first)
	for i, r := range all {
		all[i] = inOrder(r, ids, first.Benchmark)
		if r = all[i]; first.Benchmark != r.Benchmark || !slices.EqualFunc(first.Rows, r.Rows, func(x, y evaluation.Task) bool { return x.ID == y.ID && x.Share == y.Share }) {
			return requestf("they are of different tasks: %s with %d, %s with %d", first.Benchmark, len(first.Rows), r.Benchmark, len(r.Rows))
		}
		for _, other := range all[:i] {
			if shareRollouts(other, r) {
				return requestf("both are of %s under seed %d and share rollouts: their difference has no error; evaluate one again under another --seed", r.Model, r.Seed)
			}
		}
	}
	return nil
}

// comparable reads two evaluations of the same tasks that share no rollouts. Each may be a
// log, or the file of a result, a baseline that was kept.
func (a Archive) comparable(names [2]string) (results [2]*evaluation.Result, err error) {
	for i, name := range names {
		if results[i], err = a.storedOrFile(name); err != nil {
			return results, err
		}
	}
	return results, aligned(results[:])
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
