package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// designSeed is the seed of all designs that are computed for evaluations, so that a
// design does not depend on which evaluation came first.
const designSeed = 42

// designOf is the design of an evaluation on servers with a number of places, by its tasks, rollouts
// and donors. stages is their number if that is not to be chosen; 0: choose.
func (b *Benchmark) designOf(ctx context.Context, setup *evaluation.Setup, stages, places int) (evaluation.Design, error) {
	own, err := policy.FindExecution(setup.Policy)
	if err != nil {
		return evaluation.Design{}, err
	}
	if own.Uniform() {
		return alike(setup.Budget), nil
	}
	if setup.Limit() > 0 {
		return b.capped(setup, own, stages)
	}
	after := stages - 1
	if stages == 0 {
		after = own.After(len(setup.TaskIDs)*setup.Budget, places)
	}
	if after == 1 && len(setup.Donors) == 0 && !own.Adapts {
		d, err := design.Compute(ctx, design.Settings{Tasks: len(setup.TaskIDs), Budget: setup.Budget, Seed: designSeed})
		return stopped(setup, evaluation.Design{Pilots: d.Pilots, Weight: d.Weight, Risk: &d.Risk, Source: "computed"}), err
	}
	s := design.StagesSettings{Budget: setup.Budget, Stages: after + 1, TaskShares: setup.Shares, Cells: setup.Design.Cells}
	if s.Prior, err = setup.Priors(); err != nil {
		return evaluation.Design{}, err
	}
	d, err := inStages(ctx, s)
	made := evaluation.Design{
		Pilots: d.Plan.Pilots, Weight: d.Plan.Weight, Fractions: d.Plan.Fractions, Risk: &d.Risk,
		Source: fmt.Sprintf("computed for %d stages", after+1),
	}
	if err == nil && s.Cells != nil {
		s.Cells = nil
		var free design.InStages
		free, err = inStages(ctx, s)
		made.FreeRisk = &free.Risk
	}
	return stopped(setup, made), err
}

// alike is the design of Uniform.
func alike(budget int) evaluation.Design {
	return evaluation.Design{Pilots: budget, Weight: 1, Source: "every task alike"}
}

// noGain is the expected variance, relative to Uniform's, from which adapting is not worth
// its risk to do worse.
const noGain = 0.999

// gainless reports whether a design expects no gain from adapting, in an evaluation that does
// not stop by what it finds.
func gainless(s *evaluation.Setup) bool {
	stops := s.Stop != nil && *s.Stop != evaluation.Stop{Rollouts: s.Stop.Rollouts}
	return !stops && len(s.Donors) == 0 && s.Design.Risk != nil && *s.Design.Risk >= noGain
}

// mostStopped is the greatest weight of a pilot where the rest follows from what it
// finds: at the largest variance that a rollout can have, 1/4, it then leaves room for
// the rest below the standard error of the plan.
const mostStopped = 0.9 * neyman.MeanVariance / 0.25

// stopped is a design for an evaluation that may stop by what it finds.
func stopped(setup *evaluation.Setup, d evaluation.Design) evaluation.Design {
	if setup.Stop != nil {
		d.Weight = min(d.Weight, mostStopped)
	}
	return d
}

// designTasks is how many tasks a design of ours simulates over all its panels, so that
// it takes some tenths of a second for any number of them.
const designTasks = 3200

// inStages is the design in stages for tasks that are known as far as the prior says.
func inStages(ctx context.Context, s design.StagesSettings) (design.InStages, error) {
	s.Seed, s.Replicates, s.Panels = designSeed, 2, min(64, max(4, designTasks/(2*s.Prior.Tasks())))
	return design.ComputeInStages(ctx, s)
}

// standardError is that of an evaluation that reaches the goal; 0 if the goal is
// a budget.
func standardError(g evaluation.Spec) (float64, error) {
	switch {
	case g.TargetSE != 0 && g.Resolve != 0:
		return 0, requestf("--target-se or --resolve, not both")
	case !(g.TargetSE >= 0 && g.TargetSE < 0.5):
		return 0, requestf("--target-se %v: want a number between 0 and 0.5", g.TargetSE)
	case !(g.Resolve >= 0 && g.Resolve < 1):
		return 0, requestf("--resolve %v: want a difference between 0 and 1", g.Resolve)
	case g.Resolve > 0:
		return estimate.Resolving(g.Resolve) / math.Sqrt2, nil // of each of two alike
	}
	return g.TargetSE, nil
}

func checkBudget(budget int) error {
	if budget < 2 || budget > design.MostBudget {
		return requestf("--budget %d: want 2 to %d rollouts per task, one for the pilot and one for the continuation at least", budget, design.MostBudget)
	}
	return nil
}

// spending is the budget that a request names or leads to, and what decides on the rest
// of the rollouts at barriers; nil if nothing does.
func (b *Benchmark) spending(ctx context.Context, r evaluation.Spec, donors []evaluation.Donor, say func(string)) (int, *evaluation.Stop, error) {
	given := len(slices.DeleteFunc([]float64{float64(r.Budget), r.TargetSE, r.Resolve}, func(x float64) bool { return x == 0 }))
	capped := r.MaxRollouts != 0 || r.MaxTokens != 0 || r.MaxDollars != 0
	switch {
	case r.MaxRollouts < 0 || r.MaxTokens < 0 || !(r.MaxDollars >= 0 && r.MaxDollars < 1e9):
		return 0, nil, requestf("--max-rollouts %d --max-tokens %d --max-usd %v: want positive numbers", r.MaxRollouts, r.MaxTokens, r.MaxDollars)
	case r.MaxDollars != 0 && r.MaxTokens != 0:
		return 0, nil, requestf("--max-usd or --max-tokens, not both: with --price the one follows from the other")
	case r.MaxDollars != 0 && r.Price == nil && !b.outside:
		return 0, nil, requestf("--max-usd %v needs the prices of tokens: --price IN/OUT in dollars per million, or price of its [[model]]", r.MaxDollars)
	case given > 1 || given == 0 && !capped:
		return 0, nil, requestf("say what to spend, in one way: --budget, --target-se, --resolve, or --max-rollouts, --max-tokens or --max-usd")
	case capped && r.Budget != 0:
		return 0, nil, requestf("--max-rollouts, --max-tokens and --max-usd limit a --target-se, or stand alone: a budget is spent whole")
	case r.Budget != 0:
		return r.Budget, nil, checkBudget(r.Budget)
	}
	stop := &evaluation.Stop{Rollouts: r.MaxRollouts, Tokens: r.MaxTokens, Dollars: r.MaxDollars}
	tasks := len(b.tasks.Tasks)
	if least := 2 * int64(tasks); r.MaxTokens != 0 && r.MaxTokens < least {
		return 0, nil, requestf("--max-tokens %d: %d tasks take two answers each at least, so %d tokens and likely many more", r.MaxTokens, tasks, least)
	}
	if least := 2 * tasks; r.MaxRollouts != 0 && r.MaxRollouts < least {
		return 0, nil, requestf("--max-rollouts %d: %d tasks take %d at least, one in the pilot and one after it", r.MaxRollouts, tasks, least)
	}
	budget := unplanned
	if given > 0 {
		p, err := b.plan(ctx, r, donors)
		if err != nil {
			return 0, nil, err
		}
		unit := math.Pow10(3 - int(math.Floor(math.Log10(*p.Target)))) // rounded down to four digits, as names have it
		stop.StandardError = math.Floor(*p.Target*unit*(1+1e-12)) / unit
		say(fmt.Sprintf("a standard error of %.4g is expected to take %d rollouts per task; what is found decides", *p.Target, p.Budget))
		budget = p.Budget
	}
	if r.MaxRollouts != 0 {
		budget = min(budget, r.MaxRollouts/tasks)
		if given == 0 && r.MaxTokens == 0 && r.MaxDollars == 0 {
			budget = min(design.MostBudget, r.MaxRollouts/tasks)
		}
	}
	return budget, stop, nil
}

// unplanned is the budget that an evaluation is planned for which tokens limit: how many
// rollouts they are is not known.
const unplanned = 16
