package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"speceval/internal/evaluation"
	"speceval/internal/pool"
	"speceval/internal/serving"
	"speceval/pipeline/dag"
	"speceval/pipeline/experiment"
)

// evaluateNow evaluates, or goes on with an evaluation, or shows a complete one.
func (s *session) evaluateNow() (err error) {
	began := s.now()
	e, err := s.evaluated(true)
	if err != nil {
		return err
	}
	policy, err := evaluation.ParsePolicy(s.evaluate.policy)
	if err != nil {
		return &usageError{err}
	}
	if len(e.cfg.Workers) == 0 {
		return usagef("there is no server to ask: name some with --worker URL, or a [[worker]] in the configuration")
	}
	ctx, drain, stop := s.drainable("the requests")
	defer stop()
	budget, err := s.evaluationBudget(ctx, e)
	if err != nil {
		return err
	}
	setup := e.setup(&s.evaluate, policy.String(), budget)
	outside := experiment.Outside{Out: e.out, Key: s.key, Environment: s.environment, Report: s.report}
	judges := experiment.Judges(e.cfg, outside)
	defer func() { err = errors.Join(err, judges.Close(context.Background())) }()
	scored, err := e.scorers(judges)
	if err != nil {
		return &usageError{err}
	}
	result, err := s.complete(&setup, e, scored.rules)
	if result == nil && err == nil {
		servers := experiment.Servers(e.cfg, outside)
		defer func() { err = errors.Join(err, servers.Close(context.Background())) }()
		result, err = s.goOn(ctx, e, setup, scored, evaluating{servers: servers, began: began, drain: drain})
	}
	if err != nil {
		return err
	}
	return s.showResult(result, setup.Path(e.out))
}

// evaluating is what an evaluation has while it runs.
type evaluating struct {
	servers *serving.Servers
	began   time.Time
	drain   <-chan struct{}
}

// goOn begins an evaluation, or goes on with one that is not complete.
func (s *session) goOn(ctx context.Context, e *evaluated, setup evaluation.Setup, scored scoring, now evaluating) (_ *evaluation.Result, err error) {
	lock, err := dag.Acquire(setup.Path(e.out), s.holder())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if setup.Design, err = s.designOf(ctx, e, &setup); err != nil {
		return nil, err
	}
	open, err := scored.Open(ctx, e.tasks.ID, e.model.ID)
	if err != nil {
		return nil, fmt.Errorf("answers on %s cannot be scored: %w", e.tasks.ID, err)
	}
	defer open.Release()
	lease, err := acquireUnless(ctx, now.drain, now.servers, e)
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	settings := e.settings(setup, open, scored.rules, s.origin.Commit)
	settings.Servers, settings.Began, settings.Drain = evaluationServers{experiment.Replicas{Lease: lease}}, now.began, now.drain
	settings.Provenance, settings.Notes = provenanceOf(experiment.Replicas{Lease: lease}), pool.Notes(lease.Served)
	for _, note := range settings.Notes {
		s.warn("%s", note)
	}
	settings.Say = func(message string) { s.say("%s", message) }
	n := len(setup.TaskIDs)
	s.say("%s with %s: %d tasks, %d rollouts, %s with a pilot of %d each", setup.Benchmark, setup.Model, n, n*setup.Budget, setup.Policy, setup.Design.Pilots)
	progress := s.evaluationProgress()
	defer progress.end()
	settings.Watch = progress.show
	return evaluation.Run(ctx, settings)
}

// complete is the result of an evaluation that is there already; nil if it is not.
func (s *session) complete(setup *evaluation.Setup, e *evaluated, rules string) (*evaluation.Result, error) {
	folder := setup.Path(e.out)
	there, err := evaluation.ReadSetup(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = there.Matches(setup)
	}
	if err != nil {
		return nil, &usageError{err}
	}
	r, err := evaluation.ReadResult(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && r.Rules != rules {
		s.say("note: answers or scorers have changed since: speceval evaluate rescore %s", folder)
	}
	if err == nil {
		s.say("this evaluation is complete; another --seed makes another one")
	}
	return r, err
}
