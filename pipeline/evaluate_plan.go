package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"speceval/internal/evaluation"
	"speceval/internal/seed"
	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/neyman"
	"speceval/pipeline/experiment"
)

// budgetPlan is an evaluation before anything is spent.
type budgetPlan struct {
	Benchmark string `json:"benchmark"`
	Tasks     int    `json:"n_tasks"`
	Prompts   string `json:"prompts_sha256"` // of what is asked
	From      string `json:"from"`           // what is known of the tasks

	Target   *float64 `json:"target_se"` // null where the budget was given
	Resolves float64  `json:"resolves"`  // difference of two such evaluations that is found four times in five

	Budget        int     `json:"budget"` // rollouts per task
	Pilots        int     `json:"pilots"`
	Rollouts      int     `json:"rollouts"`
	StandardError float64 `json:"standard_error"` // expected
	UniformBudget int     `json:"uniform_budget"` // of Uniform with that standard error
	Uniform       int     `json:"uniform_rollouts"`
}

// evaluationBudget is the budget that the flags name or lead to.
func (s *session) evaluationBudget(ctx context.Context, e *evaluated) (int, error) {
	o := &s.evaluate
	given := 0
	for _, is := range []bool{o.budget != 0, o.targetSE != 0, o.resolve != 0, o.plan != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return 0, usagef("say what to spend, in one way: --budget, --target-se, --resolve or --plan")
	}
	switch {
	case o.plan != "":
		return e.plannedBudget(o.plan)
	case o.budget != 0:
		return o.budget, checkBudget(o.budget)
	}
	p, err := s.plan(ctx, e)
	if err != nil {
		return 0, err
	}
	s.say("a standard error of %.4f takes %d rollouts per task", p.StandardError, p.Budget)
	return p.Budget, nil
}

func checkBudget(budget int) error {
	if budget < 2 || budget > design.MostBudget {
		return usagef("--budget %d: want 2 to %d rollouts per task, one for the pilot and one for the continuation at least", budget, design.MostBudget)
	}
	return nil
}

// plannedBudget reads a budget from a plan, which must be of these tasks.
func (e *evaluated) plannedBudget(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, usagef("--plan: %w", err)
	}
	var p budgetPlan
	if err := json.Unmarshal(text, &p); err != nil {
		return 0, usagef("--plan %s: %w: want what speceval evaluate plan --json writes", path, err)
	}
	if p.Benchmark != e.tasks.ID || p.Tasks != len(e.tasks.Tasks) {
		return 0, usagef("--plan %s is of %s with %d tasks, not of %s with %d", path, p.Benchmark, p.Tasks, e.tasks.ID, len(e.tasks.Tasks))
	}
	if p.Prompts != e.tasks.Prompts().SHA256 {
		return 0, usagef("--plan %s was made for other prompts of %s: make it again", path, p.Benchmark)
	}
	return p.Budget, checkBudget(p.Budget)
}

// evaluatePlan prints the budget that an error takes.
func (s *session) evaluatePlan(words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	e, err := s.evaluated(false)
	if err != nil {
		return err
	}
	ctx, stop := s.interruptible()
	defer stop()
	p, err := s.plan(ctx, e)
	if err != nil {
		return err
	}
	if s.json {
		return writeJSON(s.stdout, p)
	}
	return p.text(s.stdout)
}

// knowledge is what is known of the tasks before an evaluation.
type knowledge struct {
	prior  *neyman.Prior
	update *neyman.Update // by an earlier evaluation; nil: nothing but the prior
	tasks  int
	source string
}

// known reads what --from names.
func (s *session) known(e *evaluated) (*knowledge, error) {
	k := &knowledge{prior: e.prior, tasks: len(e.tasks.Tasks), source: "the reference prior"}
	if s.evaluate.from == "" {
		return k, nil
	}
	r, folder, err := s.storedResult(e.out, s.evaluate.from)
	if err != nil {
		return nil, usagef("--from: %w", err)
	}
	if err := sameTasks(r, e.tasks); err != nil {
		return nil, usagef("--from %s: %w", folder, err)
	}
	k.update, err = r.Update(e.prior)
	k.source = folder
	return k, err
}

// sameTasks is nil if an evaluation was of these tasks.
func sameTasks(r *evaluation.Result, f experiment.TaskFile) error {
	if len(r.Rows) != len(f.Tasks) {
		return fmt.Errorf("it is of %s with %d tasks, not of %s with %d", r.Benchmark, len(r.Rows), f.ID, len(f.Tasks))
	}
	for i, t := range r.Rows {
		if t.ID != f.Tasks[i].ID {
			return fmt.Errorf("its task %d is %s, that of %s is %s", i, t.ID, f.ID, f.Tasks[i].ID)
		}
	}
	return nil
}

// Precision of designs and forecasts while a budget is looked for.
const (
	plannedPanels     = 1024
	plannedReplicates = 2
	plannedDraws      = 256
)

// expect is the plan of a budget.
func (k *knowledge) expect(ctx context.Context, budget int) (p budgetPlan, err error) {
	d, err := design.Compute(ctx, design.Settings{Tasks: k.tasks, Budget: budget, Panels: plannedPanels, Replicates: plannedReplicates, Seed: designSeed})
	if err != nil {
		return p, err
	}
	se, variance := d.StandardError(neyman.MeanVariance), k.uniform()
	if k.update != nil {
		stream := seed.Root(designSeed).Child("plan").Index(budget).Stream()
		f, err := estimate.Predict(k.prior, k.update, estimate.Plan{Budget: budget, Pilots: d.Pilots, Weight: d.Weight}, plannedDraws, &stream)
		if err != nil {
			return p, err
		}
		se = f.StandardError
	}
	uniform := int(math.Ceil(variance/(se*se) - 1e-9))
	return budgetPlan{
		Tasks: k.tasks, From: k.source, Budget: budget, Pilots: d.Pilots, Rollouts: budget * k.tasks, StandardError: se,
		Resolves: resolved(se), UniformBudget: uniform, Uniform: uniform * k.tasks,
	}, nil
}

// resolved is the difference of two evaluations that is found four times in five,
// each with this standard error.
func resolved(se float64) float64 { return se * math.Sqrt2 / estimate.Resolving(1) }

// plan is the least budget that has the error that the flags ask for, or the one
// that they name.
func (s *session) plan(ctx context.Context, e *evaluated) (*budgetPlan, error) {
	k, err := s.known(e)
	if err != nil {
		return nil, err
	}
	target, err := s.evaluate.target()
	if err != nil {
		return nil, err
	}
	var p budgetPlan
	if target == 0 {
		if err := checkBudget(s.evaluate.budget); err != nil {
			return nil, err
		}
		p, err = k.expect(ctx, s.evaluate.budget)
	} else {
		p, err = k.least(ctx, target)
		p.Target = &target
	}
	p.Benchmark, p.Prompts = e.tasks.ID, e.tasks.Prompts().SHA256
	return &p, err
}

// target is the standard error that the flags ask for; 0 if they name a budget.
func (o *evaluateOptions) target() (float64, error) {
	switch {
	case o.targetSE != 0 && o.resolve != 0:
		return 0, usagef("--target-se or --resolve, not both")
	case o.targetSE < 0 || o.targetSE >= 0.5 || math.IsNaN(o.targetSE):
		return 0, usagef("--target-se %v: want a number between 0 and 0.5", o.targetSE)
	case o.resolve < 0 || o.resolve >= 1 || math.IsNaN(o.resolve):
		return 0, usagef("--resolve %v: want a difference between 0 and 1", o.resolve)
	case o.resolve > 0:
		return estimate.Resolving(o.resolve) / math.Sqrt2, nil // of each of two
	}
	return o.targetSE, nil
}

// errTooPrecise is that no budget is large enough.
var errTooPrecise = errors.New("more rollouts per task than can be planned")

// leastRisk is about the variance relative to Uniform's of an allocation that
// knows the tasks, under the prior and for the paper's profiles.
const leastRisk = 0.35

// uniform is the expected variance of an estimate by a rollout of each task.
func (k *knowledge) uniform() float64 {
	if k.update == nil {
		return neyman.MeanVariance / float64(k.tasks)
	}
	sum := 0.0
	for i := range k.tasks {
		_, v := k.update.Moments(i)
		sum += v
	}
	return sum / float64(k.tasks*k.tasks)
}

// least is the plan of the least budget with a standard error of at most the
// target. The error falls with the budget, but for the noise of forecasts.
func (k *knowledge) least(ctx context.Context, target float64) (budgetPlan, error) {
	if uniform := k.uniform() / (target * target); uniform*leastRisk > design.MostBudget {
		return budgetPlan{}, fmt.Errorf("a standard error of %g takes %w: some %.0f even if all variances were known", target, errTooPrecise, uniform*leastRisk)
	}
	low, high := 1, 2 // the error at low is too large
	var found budgetPlan
	for {
		p, err := k.expect(ctx, high)
		if err != nil {
			return p, err
		}
		if p.StandardError <= target {
			found = p
			break
		}
		if high == design.MostBudget {
			return p, fmt.Errorf("a standard error of %.5f takes %w: with %d it is %.5f", target, errTooPrecise, high, p.StandardError)
		}
		low, high = high, min(design.MostBudget, max(high+1, int(float64(high)*min(8, math.Pow(p.StandardError/target, 2)*1.05))))
	}
	for high-low > 1 {
		middle := (low + high) / 2
		p, err := k.expect(ctx, middle)
		if err != nil {
			return p, err
		}
		if p.StandardError <= target {
			found, high = p, middle
		} else {
			low = middle
		}
	}
	return found, nil
}

// text shows the plan to people.
func (p *budgetPlan) text(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%s, %d tasks, by %s

  budget          %d rollouts per task, %d in all; a pilot of %d each
  standard error  %.4f expected; a difference of %.4f between two such evaluations is
                  found four times in five
  Uniform         needs %d rollouts per task for this error, %d in all

speceval evaluate --benchmark %s --budget %d --model …
`, p.Benchmark, p.Tasks, p.From, p.Budget, p.Rollouts, p.Pilots, p.StandardError, p.Resolves, p.UniformBudget, p.Uniform, p.Benchmark, p.Budget)
	return err
}
