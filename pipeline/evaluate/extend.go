package evaluate

import (
	"context"
	"errors"
	"maps"
	"slices"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/way"
	"speceval/internal/trial"
	"speceval/pipeline/config"
	"speceval/pipeline/experiment"
)

// Extend adds rollouts to a complete evaluation, named as in an Archive, up to an average
// budget of rollouts per task. What comes of it is an evaluation of its own, of which
// the folder is returned; like others it is resumed, or returned where it is complete.
// The benchmarks are those of the evaluation, none for those that it names itself. It is a
// *RequestError if rollouts would now be other ones: prompts, model, sampling or scorers
// have changed.
func Extend(ctx context.Context, cfg *config.Config, name string, benchmarks []string, budget int, h Host) (*evaluation.Result, string, error) {
	stored, err := Archive{cfg, h.Warn}.Stored(name)
	if err != nil {
		return nil, "", err
	}
	if err := stored.Recompute(); err != nil { // all its evidence becomes that of another one
		return nil, "", err
	}
	r, folder := stored.Result, stored.Folder
	b, err := again(cfg, r, benchmarks)
	if err != nil {
		return nil, "", err
	}
	if err := b.sameTasks(r); err != nil {
		return nil, "", requestf("%s: %w: name its task file with --benchmark", folder, err)
	}
	s, err := b.With(r.Model)
	if err != nil {
		return nil, "", err
	}
	return s.extend(ctx, r, folder, budget, h)
}

// extend adds rollouts to an evaluation of the model.
func (s *Subject) extend(ctx context.Context, r *evaluation.Result, folder string, budget int, h Host) (*evaluation.Result, string, error) {
	was, err := evaluation.ReadSetup(folder)
	if err != nil {
		return nil, "", err
	}
	setup := s.setup(&was.Seed)
	for _, key := range slices.Sorted(maps.Keys(setup.Asked)) {
		if is, before := setup.Asked[key], was.Asked[key]; is != before {
			return nil, "", requestf("%s was asked with other %s: what is added would be of another kind; put that back, or make a new evaluation", folder, key)
		}
	}
	if err := checkBudget(budget); err != nil {
		return nil, "", err
	}
	tasks := len(setup.TaskIDs)
	if left := tasks*budget - r.Rollouts; left < tasks {
		return nil, "", requestf("--budget %d: %s has %d rollouts of %d tasks already; want %d or more", budget, folder, r.Rollouts, tasks, (r.Rollouts+2*tasks-1)/tasks)
	}
	setup.Policy, setup.Budget, setup.Donors, setup.Shares = was.Policy, budget, was.Donors, was.Shares
	if before, err := way.Find(was.Policy); err != nil || before.Uniform() || !before.Adapts {
		setup.Policy = way.Default(len(was.Donors) > 0).Name
	}
	if setup.Extends, err = evaluation.Extending(r, folder); err != nil {
		return nil, "", err
	}
	setup.Design = extension(r, tasks, budget)
	if err := s.scoredAlike(r, folder, h); err != nil {
		return nil, "", err
	}
	return s.evaluate(ctx, setup, 0, h)
}

// informedRisk is about the variance relative to Uniform's of rollouts that are allocated
// by all those of a complete evaluation, under the reference prior.
const informedRisk = 0.5

// addedStages are those of an extension. Its tasks are known, so that few will do.
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
	return evaluation.Design{Weight: weight, Fractions: trial.Fractions(addedStages), Risk: &joint, Source: "what is extended, and rollouts by all that it found"}
}

// scoredAlike is an error if answers are scored otherwise today than those of a result.
func (s *Subject) scoredAlike(r *evaluation.Result, folder string, h Host) (err error) {
	h.Out = s.out()
	judges := experiment.Judges(s.cfg, h.Outside)
	defer func() { err = errors.Join(err, judges.Close(context.Background())) }()
	scored, err := s.scorers(h.Outside, judges)
	if err != nil {
		return &RequestError{err}
	}
	if scored.rules != r.Rules {
		return requestf("answers or scorers have changed since %s: score it again first, speceval evaluate rescore %s", folder, folder)
	}
	return nil
}
