package main

import (
	"cmp"
	"context"
	"errors"
	"runtime"

	"speceval/internal/evaluation"
	"speceval/pipeline/dag"
	"speceval/pipeline/experiment"
)

// evaluateRescore scores the answers of a complete evaluation again.
func (s *session) evaluateRescore(words []string) (err error) {
	if err := wantWords(words, 1, 1, "an evaluation"); err != nil {
		return err
	}
	cfg, err := s.evaluationConfig()
	if err != nil {
		return err
	}
	r, folder, err := s.storedResult(cfg.Experiment.Out, words[0])
	if err != nil {
		return err
	}
	setup, err := evaluation.ReadSetup(folder)
	if err != nil {
		return err
	}
	s.evaluate.benchmark, s.evaluate.model = cmp.Or(s.evaluate.benchmark, r.Benchmark), r.Model
	e, err := s.evaluated(true)
	if err != nil {
		return err
	}
	if err := sameTasks(r, e.tasks); err != nil {
		return usagef("%s: %w: name its task file with --benchmark", folder, err)
	}
	ctx, stop := s.interruptible()
	defer stop()
	judges := experiment.Judges(e.cfg, experiment.Outside{Out: e.out, Key: s.key, Environment: s.environment, Report: s.report})
	defer func() { err = errors.Join(err, judges.Close(context.Background())) }()
	scored, err := e.scorers(judges)
	if err != nil {
		return &usageError{err}
	}
	lock, err := dag.Acquire(folder, s.holder())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	open, err := scored.Open(ctx, e.tasks.ID, e.model.ID)
	if err != nil {
		return err
	}
	defer open.Release()
	settings := e.settings(*setup, open, scored.rules, s.origin.Commit)
	settings.Folder, settings.Provenance = folder, r.Provenance
	again, err := evaluation.Rescore(ctx, settings, r, 4*runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	s.say("before: %.4f ± %.4f", r.Estimate, r.StandardError)
	return s.showResult(again, folder)
}
