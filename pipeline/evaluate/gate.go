package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/evaluation"
	"speceval/method/estimate"
)

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
	Power         float64 `json:"power"`  // with which a model as good as the baseline passes at this error and rate
	Chance        float64 `json:"chance"` // of such a model to pass at the last look, given this one, at most
	Futile        bool    `json:"futile"` // undecided, and stopped since the chance is small
	Sign          int     `json:"sign"`   // −1 below the baseline, +1 above, 0 neither shown

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
	base, err := a.baseline(names[1])
	if err != nil {
		return nil, err
	}
	own, err := a.result(names[0])
	if err != nil {
		return nil, err
	}
	results := [2]*evaluation.Result{own, base}
	if err := aligned(results[:]); err != nil {
		return nil, err
	}
	a.warnOfRules(results[:], names[:])
	g, look := Gated{Evaluations: names, Look: 1, Looks: 1}, estimate.Look{Time: 1}
	look.Difference, _ = a.difference(results, names)
	return &g, g.judge(&estimate.Gate{Margin: q.Margin}, q, results, look)
}

// baseline is the result that a baseline names, with an error: of a mere number, and of a mean
// whose error is not known, no difference has one.
func (a Archive) baseline(name string) (*evaluation.Result, error) {
	if _, err := strconv.ParseFloat(name, 64); err == nil {
		if _, err := os.Stat(name); err != nil {
			return nil, requestf("the baseline %s is a number without tasks and error, so that no difference from it has one: name an evaluation of it, a log, or a file that `speceval evaluate show --json` has printed", name)
		}
	}
	r, err := a.result(name)
	if err == nil && r.StandardError == 0 {
		err = requestf("the baseline %s states no error: how far to trust its mean is not known", name)
	}
	return r, err
}

// errOneCluster means that a gate asks of what the tasks are a sample of, which they cannot tell.
var errOneCluster = requestf("all tasks are of one cluster: what they stand for cannot be told from them")

// judge judges the two evaluations at a look, with their difference on these tasks.
func (g *Gated) judge(gate *estimate.Gate, q Gating, results [2]*evaluation.Result, look estimate.Look) error {
	a, b := results[0], results[1]
	if g.Question = theseTasks; q.OverTasks {
		paired, err := pairedTasks(a, b, look.Difference.StandardError)
		if err != nil {
			return err
		}
		if paired == nil {
			return errOneCluster
		}
		look.Difference, g.Question = paired.Bounded, otherTasks
	}
	v, err := gate.Judge(look)
	if err != nil {
		return &RequestError{err}
	}
	g.Estimates, g.Rollouts = [2]float64{a.Estimate, b.Estimate}, [2]int{a.Rollouts, b.Rollouts}
	g.Margin, g.Outcome, g.Bounds = q.Margin, v.Outcome.String(), [2]float64{v.Low, v.High}
	g.Rate, g.Overall, g.Power, g.Sign = v.Rate, estimate.GateRate, v.Power, v.Sign
	g.Chance, g.Futile = v.Chance, v.Futile
	g.Difference, g.StandardError = look.Difference.Value, look.Difference.StandardError
	g.Losses = lossesOf(a, b)
	return nil
}

// Bounds of the looks of a live gate. More than mostGateLooks would save next to nothing.
// With fewer new rollouts of a task there is little to allocate, and the error is stated too
// large, more so at small budgets; with fewer of a place at the servers the barrier behind
// each look costs more time than stopping earlier saves.
const (
	mostGateLooks  = 13
	leastOfTask    = 2
	leastOfSmall   = 3 // of a task, where the budget is small
	smallBudget    = 31
	leastOfPlace   = 4
	leastFirstLook = 4
)

// looks are the budgets of a live gate up to one, on servers with the given places: from a
// quarter of it on in equal steps.
func looks(budget, tasks, places int) (budgets []int) {
	fill, least := (leastOfPlace*places+tasks-1)/tasks, leastOfTask
	if budget <= smallBudget {
		least = leastOfSmall
	}
	first := max(leastFirstLook, (budget+3)/4, fill)
	step := max(least, fill, (budget-first+mostGateLooks-2)/(mostGateLooks-1))
	for b := budget; b >= first || b == budget; b -= step {
		budgets = append(budgets, b)
	}
	slices.Reverse(budgets)
	return budgets
}

// GateLive evaluates the model until it is known whether it is no worse than a stored
// baseline, or until that has become unlikely to be found. It asks at a quarter of the
// request's budget, and then again and again up to all of it. Each look is a complete
// evaluation that extends the one before. The error rates are those of all looks together.
// The error is an *evaluation.PausedError if the same request goes on from there.
func (s *Subject) GateLive(ctx context.Context, baseline string, q Gating, r evaluation.Spec, h Host) (_ *Gated, err error) {
	base, err := s.Archive.baseline(baseline)
	if err != nil {
		return nil, err
	}
	if r.Budget == 0 || r.TargetSE != 0 || r.Resolve != 0 || r.MaxRollouts != 0 || r.MaxTokens != 0 {
		return nil, requestf("gate --live wants a --budget: the most that it may spend")
	}
	if err := checkBudget(r.Budget); err != nil {
		return nil, err
	}
	setup := s.setup(r.Seed)
	base = inOrder(base, setup.TaskIDs, s.tasks.ID)
	if err := s.sameTasks(base); err != nil {
		return nil, requestf("the baseline %s: %w", baseline, err)
	}
	if base.Model == setup.Model && base.Seed == setup.Seed && !base.Outside() {
		return nil, requestf("the baseline is of %s under seed %d, too: take another --seed", setup.Model, setup.Seed)
	}
	if of := setup.Clusters; q.OverTasks && of != nil && !slices.ContainsFunc(of, func(c string) bool { return c != of[0] }) {
		return nil, errOneCluster
	}
	h.Warn = once(h.Warn)
	e := s.equip(h, s.model)
	defer e.close(&err)
	replicas := 0 // of a worker
	for _, w := range s.Config.Workers {
		if w.Launch != "" {
			replicas = max(replicas, s.Config.Systems.Replicas)
		}
		replicas = max(replicas, len(w.URLs))
	}
	budgets := looks(r.Budget, len(setup.TaskIDs), replicas*s.Config.Systems.Window)
	gate := &estimate.Gate{Margin: q.Margin, Looks: len(budgets)}
	var before, result *evaluation.Result
	var folder string
	for k := 0; ; k++ { // the last look returns
		budget := budgets[k]
		if before = result; k == 0 {
			first := r
			first.Budget = budget
			result, folder, err = s.begin(ctx, e, first, h)
		} else {
			result, folder, err = s.extend(ctx, e, result, folder, budget, h)
		}
		if err != nil {
			return nil, err
		}
		g := &Gated{Evaluations: [2]string{folder, baseline}, Look: k + 1, Looks: len(budgets)}
		look := lookAt(result, before, r.Budget)
		look.Difference = result.Mean().Bounded().Minus(base.Mean().Bounded())
		err := g.judge(gate, q, [2]*evaluation.Result{result, base}, look)
		if err != nil || g.Outcome != estimate.Undecided.String() || g.Futile || g.Look == g.Looks {
			return g, err
		}
		h.Say(fmt.Sprintf("look %d of %d, %d rollouts per task: undecided, the difference is %+.4f with bounds %+.4f to %+.4f", g.Look, g.Looks, budget, g.Difference, g.Bounds[0], g.Bounds[1]))
	}
}

// lookAt is the look at a result, which extends the one before if there is one, of a gate
// with a largest budget. How the variance has become smaller goes by the tasks' rollouts, and
// by what is known of the tasks now.
func lookAt(r, before *evaluation.Result, budget int) estimate.Look {
	l := estimate.Look{Time: float64(r.Budget) / float64(budget), Own: r.StandardError * r.StandardError}
	if r.Budget < budget {
		l.Ahead = extension(r, r.Tasks, budget).Weight
	}
	if before == nil {
		return l
	}
	now, then := 0.0, 0.0
	for i, t := range r.Rows {
		share := cmp.Or(t.Share, 1)
		now += share * share * t.Variance * t.Shrinkage
		then += share * share * t.Variance * before.Rows[i].Shrinkage
	}
	l.Kept, l.Before = r.Design.Weight, l.Own*then/now
	return l
}

// once says every message only once.
func once(say func(string)) func(string) {
	said := map[string]bool{}
	return func(message string) {
		if !said[message] {
			said[message] = true
			say(message)
		}
	}
}

// Text writes the verdict for people.
func (g *Gated) Text(w io.Writer) error {
	var b strings.Builder
	for i, name := range g.Evaluations {
		fmt.Fprintf(&b, "%s  %.4f by %d rollouts  %s\n", [2]string{"model   ", "baseline"}[i], g.Estimates[i], g.Rollouts[i], name)
	}
	words := fmt.Sprintf("undecided: these rollouts do not tell whether it is worse by %g", g.Margin)
	switch {
	case g.Passed():
		words = fmt.Sprintf("no worse than %g below the baseline%s", g.Margin, map[int]string{-1: ", though below it", 0: "", 1: ": above it"}[g.Sign])
	case g.Outcome == estimate.Worse.String():
		words = fmt.Sprintf("worse, by more than %g", g.Margin)
	case g.Futile:
		words = fmt.Sprintf("undecided, and stopped: a model as good as the baseline would pass from here in %.2g%% of the\n              cases at most; this rule fails such a model in 1.5%% at most", 100*g.Chance)
	}
	fmt.Fprintf(&b, "\n  difference  %+.4f ± %.4f, bounds %+.4f and %+.4f, for %s\n", g.Difference, g.StandardError, g.Bounds[0], g.Bounds[1], g.Question)
	fmt.Fprintf(&b, "%s  verdict     %s\n", againLine(g.Losses, "lost       ", "difference"), words)
	fmt.Fprintf(&b, "  errors      a model that is worse by %g passes in %.3g%% of the cases at most", g.Margin, 100*g.Overall)
	at := ""
	if g.Looks > 1 {
		fmt.Fprintf(&b, ", over all %d looks, of which this is look %d", g.Looks, g.Look)
		at = " at this look"
	}
	fmt.Fprintf(&b, ";\n              one as good as the baseline passes%s in %.0f%%\n", at, 100*g.Power)
	_, err := io.WriteString(w, b.String())
	return err
}

// Check checks, before anything is read or spent, whether a gate can be asked.
func (q Gating) Check() error {
	if !(q.Margin >= 0 && q.Margin < 1) {
		return requestf("--no-worse-than %v: want a number from 0 to 1, such as 0.02 for two points", q.Margin)
	}
	return nil
}

// OpenLive is the subject of a live gate: the model on the baseline's benchmarks, none for
// those that the baseline names.
func (a Archive) OpenLive(baseline string, benchmarks []string, model string) (*Subject, error) {
	base, err := Archive{Config: a.Config}.baseline(baseline) // of which GateLive warns
	if err != nil {
		return nil, err
	}
	b, err := a.again(base, benchmarks)
	if err != nil {
		return nil, err
	}
	return b.With(model)
}
