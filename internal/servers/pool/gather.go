package pool

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"speceval/internal/servers/launcher"
	"speceval/internal/servers/vllm"
)

// Pauses between two looks at servers that are not ready yet: they double from the first.
const (
	firstLook = 250 * time.Millisecond
	lastLook  = 5 * time.Second
)

// gather finds the replicas of a model and starts the ones with recipes. It waits for
// servers that are not ready yet. No other caller reads the launched replicas of a busy
// site.
func (s *Servers) gather(ctx context.Context, at *site, m Model) (*Pool, error) {
	started, said := s.settings.Clock.Now(), false
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		p, err := s.look(ctx, at, m)
		left := s.settings.Outage - s.settings.Clock.Now().Sub(started)
		if !errors.Is(err, vllm.ErrLoading) || left <= 0 {
			return p, err
		}
		if !said && s.settings.Outage-left >= sayAfter {
			said = true
			s.settings.Report(fmt.Sprintf("%s: %v", waitingText(left), err))
		}
		if err := s.settings.Clock.Sleep(ctx, min(pause, left)); err != nil {
			return nil, err
		}
	}
}

// look is gather, once: it stops the model that recipes have started at the site, which is not in
// use, unless a worker could not start the new one before.
func (s *Servers) look(ctx context.Context, at *site, m Model) (*Pool, error) {
	for _, w := range at.workers {
		if err := at.failed[[2]string{w.Name, m.ID}]; err != nil {
			return nil, fmt.Errorf("worker %s: %w", w.Name, err)
		}
	}
	s.mu.Lock()
	old := at.open[at.model]
	delete(at.open, at.model)
	s.mu.Unlock()
	if old != nil {
		old.Close()
	}
	if err := at.stop(ctx); err != nil {
		return nil, err
	}
	var all []Replica
	for _, w := range at.workers {
		urls, launched := w.URLs, (*launcher.Servers)(nil)
		if w.Recipe != nil {
			var err error
			if launched, err = s.launch(ctx, at, w, m); err != nil {
				return nil, errors.Join(fmt.Errorf("worker %s: %w", w.Name, err), at.stop(context.WithoutCancel(ctx)))
			}
			urls = launched.URLs()
		}
		for i, url := range urls {
			client, err := vllm.New(url, vllm.Options{Key: w.Key, KeyHint: w.KeyHint, Clock: s.settings.Clock, Idle: s.settings.Hang, Connections: s.settings.Window + 2})
			if err != nil {
				return nil, err
			}
			r := Replica{Name: url, Client: client}
			if launched != nil {
				r.Restart = func(ctx context.Context) error { return launched.Restart(ctx, i) }
			}
			all = append(all, r)
		}
	}
	return Open(ctx, all, m.Requires, s.settings)
}

// launch starts the model on a worker with a recipe.
func (s *Servers) launch(ctx context.Context, at *site, w Worker, m Model) (*launcher.Servers, error) {
	load, err := m.Launch, error(nil)
	if w.Prepare != nil {
		if load, err = w.Prepare(m); err != nil {
			return nil, err
		}
	}
	s.settings.Report(fmt.Sprintf("worker %s: starting %d servers of %s", w.Name, w.Recipe.Replicas, m.ID))
	servers, err := launcher.Start(ctx, *w.Recipe, load, launcher.Options{
		Logs: filepath.Join(s.settings.Logs, w.Name, m.ID), Start: s.settings.Start, Clock: s.settings.Clock,
		Environment: s.settings.Environment, Key: w.Key, Report: s.settings.Report,
	})
	switch {
	case err == nil:
		at.launched, at.model = append(at.launched, servers), m.ID
	case ctx.Err() == nil:
		at.failed[[2]string{w.Name, m.ID}] = err
	}
	return servers, err
}

// stop ends launched servers.
func (s *site) stop(ctx context.Context) error {
	var errs []error
	for _, l := range s.launched {
		if err := l.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop servers: %w", err))
		}
	}
	s.launched, s.model = nil, ""
	return errors.Join(errs...)
}
