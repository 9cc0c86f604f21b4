package evaluate

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/ledger"
	"speceval/internal/policy"
	"speceval/internal/terminal/display"
	"speceval/method/estimate"
	"speceval/method/informed"
)

// Plan is an evaluation before anything is spent.
type Plan struct {
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
	Used          string  `json:"policy_used,omitempty"` // in the place of the default policy, since no gain is expected; "": itself

	// Of answers, and what they cost with their prompts: by earlier ones of the model to these
	// prompts, otherwise the most that sampling.max_tokens allows.
	Tokens  float64  `json:"tokens"`
	Earlier int      `json:"earlier_answers"`
	Dollars *float64 `json:"usd,omitempty"` // null without prices
	Command string   `json:"command,omitempty"`
}

// Text writes the plan for people.
func (p *Plan) Text(w io.Writer) error {
	tokens, used := fmt.Sprintf("%s of answers at most", display.ThreeDigits(int64(p.Tokens))), ""
	if p.Earlier > 0 {
		tokens = fmt.Sprintf("%s of answers, by %d earlier ones", display.ThreeDigits(int64(p.Tokens)), p.Earlier)
	}
	if p.Dollars != nil {
		tokens += fmt.Sprintf("; $%.3g with their prompts", *p.Dollars)
	}
	if p.Used != "" {
		used = "  policy          uniform takes the place of the default: no gain is expected of so few tasks and rollouts\n"
	}
	_, err := fmt.Fprintf(w, `%s, %d tasks, by %s

  budget          %d rollouts per task, %d in all; a pilot of %d each
  standard error  %.4f expected; a difference of %.4f between two such evaluations is
                  found four times in five
  Uniform         needs %d rollouts per task for this error, %d in all
  tokens          %s
%s
%s
`, p.Benchmark, p.Tasks, p.From, p.Budget, p.Rollouts, p.Pilots, p.StandardError, p.Resolves, p.UniformBudget, p.Uniform, tokens, used, p.Command)
	return err
}

// Plan finds the least budget that reaches the goal, or what the budget of the
// goal comes to. estimate.ErrTooPrecise is in the error if no budget reaches it.
func (b *Benchmark) Plan(ctx context.Context, g evaluation.Spec) (*Plan, error) {
	donors, err := b.donors(g, g.Model, math.MaxUint64) // a seed of no evaluation
	if err != nil {
		return nil, err
	}
	return b.plan(ctx, g, donors)
}

func (b *Benchmark) plan(ctx context.Context, g evaluation.Spec, donors []evaluation.Donor) (*Plan, error) {
	p := &Plan{Benchmark: b.tasks.ID, Tasks: len(b.tasks.Tasks), Prompts: b.tasks.Prompts().SHA256, From: "the reference prior"}
	setup := evaluation.Setup{TaskIDs: make([]string, p.Tasks), Donors: donors}
	if len(donors) > 0 {
		p.From = "what is known from " + firstNames(evaluation.Sources(donors))
	}
	target, err := standardError(g)
	if err != nil {
		return nil, err
	}
	prior, err := likely(p.Tasks, donors, g.Model)
	if err != nil {
		return nil, &RequestError{err}
	}
	planner := estimate.Planner{Prior: prior, Seed: designSeed}
	var e estimate.Expectation
	if target > 0 {
		p.Target = &target
		e, err = planner.Least(ctx, target)
	} else if g.Budget == 0 {
		err = requestf("say what to plan for: --target-se, --resolve or --budget")
	} else if err = checkBudget(g.Budget); err == nil {
		e, err = planner.Expect(ctx, g.Budget)
	}
	if err != nil {
		return nil, err
	}
	p.Budget, p.Pilots, p.Rollouts, p.StandardError = e.Budget, e.Pilots, e.Budget*p.Tasks, e.StandardError
	if err := p.price(b, g); err != nil {
		return nil, err
	}
	p.Resolves, p.UniformBudget, p.Uniform = estimate.Resolved(e.StandardError*math.Sqrt2), e.UniformBudget, e.UniformBudget*p.Tasks
	if p.UniformBudget > p.Budget+1 {
		return p, nil
	}
	setup.Policy, setup.Budget = policy.DefaultExecution(len(donors) > 0).Name, p.Budget
	setup.Design, err = b.designOf(ctx, &setup, 0, 1)
	if gainless(&setup) {
		p.Used = "uniform"
	}
	return p, err
}

// likely is the prior of a forecast by donors. Donors of the model have its own earlier rollouts, and
// so have all where no model is named.
func likely(tasks int, donors []evaluation.Donor, model string) (*informed.Prior, error) {
	own := model == "" || slices.ContainsFunc(donors, func(d evaluation.Donor) bool { return d.Same })
	var all []informed.Donor
	for _, d := range donors {
		if model == "" || d.Same == own {
			all = append(all, informed.Donor{Name: d.Source, Passes: d.Passes, Rollouts: d.Rollouts})
		}
	}
	return informed.Likely(tasks, all, own)
}

// price sets what the rollouts of a plan take and cost.
func (p *Plan) price(b *Benchmark, g evaluation.Spec) error {
	prompt, completion := 0.0, float64(b.Config.Sampling.MaxTokens)
	for _, t := range b.tasks.Tasks {
		prompt += float64(len(t.Asked())) / ledger.BytesPerToken / float64(p.Tasks)
	}
	if g.Model != "" {
		s, err := b.With(g.Model)
		if err != nil {
			return err
		}
		if g.Price, err = s.price(g.Price); err != nil {
			return err
		}
		setup := s.setup(nil)
		if n, in, out := b.lengths(&setup); n > 0 {
			p.Earlier, prompt, completion = n, in, out
		}
	}
	p.Tokens = completion * float64(p.Rollouts)
	if g.Price != nil {
		dollars := g.Price.Of(prompt*float64(p.Rollouts), p.Tokens)
		p.Dollars = &dollars
	}
	return nil
}
