package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"speceval/internal/evaluation"
	"speceval/method/design"
	"speceval/method/estimate"
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

// planner forecasts evaluations by what --from names, and otherwise by the prior.
// source says which.
func (s *session) planner(e *evaluated) (p estimate.Planner, source string, err error) {
	p = estimate.Planner{Tasks: len(e.tasks.Tasks), Seed: designSeed}
	if s.evaluate.from == "" {
		return p, "the reference prior", nil
	}
	r, folder, err := s.storedResult(e.out, s.evaluate.from)
	if err != nil {
		return p, "", usagef("--from: %w", err)
	}
	if err := sameTasks(r, e.tasks); err != nil {
		return p, "", usagef("--from %s: %w", folder, err)
	}
	p.Prior = e.prior
	p.Earlier, err = r.Update(e.prior)
	return p, folder, err
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

// plan is the least budget that has the error that the flags ask for, or the one
// that they name.
func (s *session) plan(ctx context.Context, e *evaluated) (*budgetPlan, error) {
	planner, source, err := s.planner(e)
	if err != nil {
		return nil, err
	}
	target, err := s.evaluate.target()
	if err != nil {
		return nil, err
	}
	p := &budgetPlan{Benchmark: e.tasks.ID, Tasks: planner.Tasks, Prompts: e.tasks.Prompts().SHA256, From: source}
	var x estimate.Expectation
	if target > 0 {
		p.Target = &target
		x, err = planner.Least(ctx, target)
	} else if err = checkBudget(s.evaluate.budget); err == nil {
		x, err = planner.Expect(ctx, s.evaluate.budget)
	}
	p.Budget, p.Pilots, p.Rollouts, p.StandardError = x.Budget, x.Pilots, x.Budget*p.Tasks, x.StandardError
	p.Resolves, p.UniformBudget, p.Uniform = estimate.ResolvedByEach(x.StandardError), x.UniformBudget, x.UniformBudget*p.Tasks
	return p, err
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
		return estimate.ResolvingEach(o.resolve), nil
	}
	return o.targetSE, nil
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
