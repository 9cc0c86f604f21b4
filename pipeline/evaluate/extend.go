package evaluate

import (
	"context"

	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/pipeline/config"
)

// Extend adds rollouts to a complete evaluation, named as in an Archive, up to an average
// budget of rollouts per task. What comes of it is an evaluation of its own, of which
// the folder is returned; like others it is resumed, or returned where it is complete.
// benchmarks are task files; the evaluation names its own where one is missing. It is a
// *RequestError if rollouts would now be other ones: prompts, model, sampling or scorers
// have changed.
func Extend(ctx context.Context, cfg *config.Config, name string, benchmarks []string, budget int, h Host) (result *evaluation.Result, folder string, err error) {
	stored, s, err := Archive{cfg, h.Warn}.reopen(name, benchmarks, evaluation.RolloutsFile, evaluation.ScoresFile, evaluation.RequestsFile)
	if err != nil {
		return nil, "", err
	}
	if len(stored.Setup.PassK) > 0 {
		h.Warn("pass@k and pass^k are left out: rollouts that are added depend on the earlier ones; they stay in " + stored.Folder)
	}
	e := s.equip(h, s.model)
	defer e.close(&err)
	return s.extend(ctx, e, stored.Result, stored.Folder, budget, h)
}

// extend adds rollouts to an evaluation of the model.
func (s *Subject) extend(ctx context.Context, e *equipment, r *evaluation.Result, folder string, budget int, h Host) (*evaluation.Result, string, error) {
	setup, err := s.extended(r, folder, budget)
	if err != nil {
		return nil, "", err
	}
	return s.evaluate(ctx, e, setup, evaluation.Spec{}, r, h)
}

// extended is an evaluation that adds rollouts to one of the model.
func (s *Subject) extended(r *evaluation.Result, folder string, budget int) (evaluation.Setup, error) {
	was, err := evaluation.ReadSetup(folder)
	if err != nil {
		return evaluation.Setup{}, err
	}
	setup := s.setup(&was.Seed)
	if key := setup.Differs(was); key != "" {
		return setup, requestf("%s was asked with other %s: what is added would be of another kind; put that back, or make a new evaluation", folder, key)
	}
	if setup.Price, err = s.price(was.Price); err != nil {
		return setup, err
	}
	return setup, extendSetup(&setup, was, r, folder, budget)
}

// extendSetup makes of a setup one that adds rollouts to a complete evaluation in a folder, up to a
// budget of rollouts per task.
func extendSetup(setup, was *evaluation.Setup, r *evaluation.Result, folder string, budget int) error {
	if err := checkBudget(budget); err != nil {
		return err
	}
	tasks := len(was.TaskIDs)
	if left := tasks*budget - r.Rollouts; left < tasks {
		return requestf("--budget %d: %s has %d rollouts of %d tasks already; want %d or more", budget, folder, r.Rollouts, tasks, (r.Rollouts+2*tasks-1)/tasks)
	}
	setup.Policy, setup.Budget, setup.Donors, setup.Shares, setup.Coupled = was.Policy, budget, was.Donors, was.Shares, was.Coupled
	before, err := policy.FindExecution(was.Policy)
	if err != nil {
		return requestf("%s cannot be extended: %v", folder, err)
	}
	if before.Uniform() || !before.Adapts {
		setup.Policy = policy.DefaultExecution(len(was.Donors) > 0).Name
	}
	setup.Design = extension(r, tasks, budget)
	setup.Extends = evaluation.Extending(r, folder)
	return nil
}

// informedRisk is about the variance relative to Uniform's of rollouts that are allocated
// by all those of a complete evaluation, under the reference prior.
const informedRisk = 0.5

// addedStages is the number of stages of an extension. Its tasks are known, so few will do.
const addedStages = 2

// extension is how an evaluation of so many tasks is extended to a budget. The weight of
// what is there is that of least variance, by variances that were known before its first
// rollout: its own rewards must not decide on it.
func extension(r *evaluation.Result, tasks, budget int) evaluation.Design {
	risk := 1.0
	if r.Design.Risk != nil {
		risk = min(1, *r.Design.Risk)
	}
	before := risk / float64(r.Budget)
	added := informedRisk / (float64(budget) - float64(r.Rollouts)/float64(tasks))
	weight := added / (before + added)
	joint := float64(budget) * before * added / (before + added)
	return evaluation.Design{Weight: weight, Fractions: pilot.Fractions(addedStages), Risk: &joint, Source: "what is extended, and rollouts by all that it found"}
}
