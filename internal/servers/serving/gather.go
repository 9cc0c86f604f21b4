package serving

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"speceval/internal/servers/launcher"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
)

// Pauses between two looks at servers that are not ready yet: they double from the first.
const (
	firstLook = 250 * time.Millisecond
	lastLook  = 5 * time.Second
)

// gather finds the replicas of a model and starts those that recipes can. Servers that are
// not ready yet are waited for.
func (s *Servers) gather(ctx context.Context, at *site, m Model) (*pool.Pool, error) {
	started, said := s.settings.Clock.Now(), false
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		p, err := s.look(ctx, at, m)
		left := s.settings.Outage - s.settings.Clock.Now().Sub(started)
		if !errors.Is(err, vllm.ErrLoading) || left <= 0 {
			return p, err
		}
		if !said && s.settings.Outage-left >= pool.SayAfter {
			said = true
			s.settings.Report(fmt.Sprintf("%s: %v", pool.Waiting(left), err))
		}
		if err := s.settings.Clock.Sleep(ctx, min(pause, left)); err != nil {
			return nil, err
		}
	}
}

// look is gather, once.
func (s *Servers) look(ctx context.Context, at *site, m Model) (*pool.Pool, error) {
	all, err := s.launch(ctx, at, m)
	if err != nil {
		return nil, err
	}
	for _, w := range at.workers {
		for _, url := range w.URLs {
			client, err := s.client(w, url)
			if err != nil {
				return nil, err
			}
			all = append(all, pool.Replica{Name: url, Client: client})
		}
	}
	return pool.Open(ctx, all, m.Requires, pool.Settings{
		Window: s.settings.Window, Attempts: s.settings.Attempts,
		Outage: s.settings.Outage, Clock: s.settings.Clock, Report: s.settings.Report,
	})
}

// client makes a client with a connection for every request of the window.
func (s *Servers) client(w Worker, url string) (*vllm.Client, error) {
	return vllm.New(url, vllm.Options{Key: w.Key, KeyHint: w.KeyHint, Clock: s.settings.Clock, Idle: s.settings.Hang, Connections: s.settings.Window + 2})
}

// launch starts the model on every worker with a recipe, after it has stopped
// the model that was there, which is not in use.
func (s *Servers) launch(ctx context.Context, at *site, m Model) (all []pool.Replica, err error) {
	if !slices.ContainsFunc(at.workers, func(w Worker) bool { return w.Recipe != nil }) {
		return nil, nil
	}
	s.mu.Lock()
	old := at.open[at.model]
	delete(at.open, at.model)
	s.mu.Unlock()
	if old != nil {
		old.Close()
	}
	if err := s.stop(ctx, at); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop(context.WithoutCancel(ctx), at))
		}
	}()
	for _, w := range at.workers {
		if w.Recipe == nil {
			continue
		}
		s.settings.Report(fmt.Sprintf("worker %s: starting %d servers of %s", w.Name, w.Recipe.Replicas, m.ID))
		servers, err := s.start(ctx, w, m)
		if err != nil {
			return nil, fmt.Errorf("worker %s: %w", w.Name, err)
		}
		s.mu.Lock()
		at.launched, at.model = append(at.launched, servers), m.ID
		s.mu.Unlock()
		for i, url := range servers.URLs() {
			client, err := s.client(w, url)
			if err != nil {
				return nil, err
			}
			restart := func(ctx context.Context) error { return servers.Restart(ctx, i) }
			all = append(all, pool.Replica{Name: url, Client: client, Restart: restart})
		}
	}
	return all, nil
}

// start starts a model on a worker with a recipe.
func (s *Servers) start(ctx context.Context, w Worker, m Model) (*launcher.Servers, error) {
	load, err := w.loads(m)
	if err != nil {
		return nil, err
	}
	return launcher.Start(ctx, *w.Recipe, load, launcher.Options{
		Logs: filepath.Join(s.settings.Logs, w.Name, m.ID), Start: s.settings.Start, Clock: s.settings.Clock,
		Environment: s.settings.Environment, Key: w.Key, Report: s.settings.Report, Memory: s.settings.Memory,
	})
}

// stop ends launched servers.
func (s *Servers) stop(ctx context.Context, at *site) error {
	s.mu.Lock()
	launched := at.launched
	at.launched, at.model = nil, ""
	s.mu.Unlock()
	var errs []error
	for _, l := range launched {
		if err := l.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop servers: %w", err))
		}
	}
	return errors.Join(errs...)
}
