package serving

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"speceval/internal/launcher"
	"speceval/internal/pool"
	"speceval/internal/vllm"
)

// pollEvery is the interval at which the pool polls the metrics of its replicas.
const pollEvery = 5 * time.Second

// Pauses between two looks at servers that are not ready yet: they double from the first.
const (
	firstLook = 250 * time.Millisecond
	lastLook  = 5 * time.Second
)

// gather finds the replicas of a model and starts those that recipes can. Servers that are
// not ready yet are waited for.
func (s *Servers) gather(ctx context.Context, m Model) (*pool.Pool, error) {
	started, said := s.settings.Clock.Now(), false
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		p, err := s.look(ctx, m)
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
func (s *Servers) look(ctx context.Context, m Model) (*pool.Pool, error) {
	all, err := s.launch(ctx, m)
	if err != nil {
		return nil, err
	}
	for _, w := range s.settings.Workers {
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
		Hang: s.settings.Hang, Outage: s.settings.Outage, Poll: pollEvery,
		Clock: s.settings.Clock, Report: s.settings.Report,
	})
}

// client makes a client with a connection for every request of the window. The pool looks
// at the metrics of vLLM, which show a hang sooner and better than silence does: the client
// notices the silence of one whose metrics do not.
func (s *Servers) client(w Worker, url string) (*vllm.Client, error) {
	return vllm.New(url, vllm.Options{Key: w.Key, KeyHint: w.KeyHint, Clock: s.settings.Clock, Idle: 2 * s.settings.Hang, Connections: s.settings.Window + 2})
}

// launch starts the model on every worker with a recipe, after it has stopped
// the model that was there. The caller has made sure that it is not in use.
func (s *Servers) launch(ctx context.Context, m Model) ([]pool.Replica, error) {
	var recipes []Worker
	for _, w := range s.settings.Workers {
		if w.Recipe != nil {
			recipes = append(recipes, w)
		}
	}
	if len(recipes) == 0 {
		return nil, nil
	}
	if err := s.unload(ctx); err != nil {
		return nil, err
	}
	var all []pool.Replica
	for _, w := range recipes {
		s.settings.Report(fmt.Sprintf("worker %s: starting %d servers of %s", w.Name, w.Recipe.Replicas, m.ID))
		servers, err := s.start(ctx, w, m)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("worker %s: %w", w.Name, err), s.stop(context.WithoutCancel(ctx)))
		}
		s.started(servers, m.ID)
		for i, url := range servers.URLs() {
			client, err := s.client(w, url)
			if err != nil {
				return nil, errors.Join(err, s.stop(context.WithoutCancel(ctx)))
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

// unload stops the launched model.
func (s *Servers) unload(ctx context.Context) error {
	s.mu.Lock()
	old := s.open[s.model]
	delete(s.open, s.model)
	s.mu.Unlock()
	if old != nil {
		old.Close()
	}
	return s.stop(ctx)
}

// Workers lends workers one by one and whole, for work that is timed: no
// other caller gets a replica of theirs meanwhile. Its methods may be called
// concurrently. The same workers must not be in use by Servers.
type Workers struct {
	all []*Servers // of one worker each

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever what follows changes
	lent    []bool
	waiting map[string]int // how many wait for a model
}

// NewWorkers makes Workers of settings. Nothing is asked or started before
// Acquire.
func NewWorkers(s Settings) *Workers {
	w := &Workers{changed: make(chan struct{}), lent: make([]bool, len(s.Workers)), waiting: make(map[string]int)}
	for _, worker := range s.Workers {
		one := s
		one.Workers = []Worker{worker}
		w.all = append(w.all, New(one))
	}
	return w
}

// Acquire lends a worker with replicas of a model, and finds or starts those.
// It waits while every worker that may have some is lent. A worker whose recipe
// serves another model is left to those who wait for that. Release gives the
// worker back.
func (w *Workers) Acquire(ctx context.Context, m Model) (*Lease, error) {
	if len(w.all) == 0 {
		return nil, errNoWorkers
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.signal() // for those who left a worker to us
	refusals := make([]error, len(w.all))
	for {
		i, possible := w.choose(m.ID, refusals)
		switch {
		case !possible:
			return nil, errors.Join(refusals...)
		case i < 0:
			w.waiting[m.ID]++
			err := w.wait(ctx)
			w.waiting[m.ID]--
			if err != nil {
				return nil, err
			}
			continue
		}
		lease, err := w.lend(ctx, i, m)
		if err == nil {
			return lease, nil
		}
		refusals[i] = fmt.Errorf("worker %s: %w", w.name(i), err)
		if !errors.Is(err, pool.ErrUnserved) {
			return nil, refusals[i]
		}
	}
}

// choose is a worker to ask for a model, one that has it up first; -1 if all
// that have not refused are lent or left to others. mu is held.
func (w *Workers) choose(model string, refusals []error) (worker int, possible bool) {
	worker = -1
	for i, s := range w.all {
		if refusals[i] != nil {
			continue
		}
		possible = true
		up, other := s.up(model)
		switch {
		case w.lent[i]:
		case up:
			return i, true
		case worker < 0 && (other == "" || w.waiting[other] == 0):
			worker = i
		}
	}
	return worker, possible
}

// up reports whether a model has replicas, and which other one the recipe
// serves.
func (s *Servers) up(model string) (up bool, other string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.model != model {
		other = s.model
	}
	return s.open[model] != nil, other
}

// lend acquires the model of one worker, without mu.
func (w *Workers) lend(ctx context.Context, i int, m Model) (*Lease, error) {
	w.lent[i] = true
	w.mu.Unlock()
	lease, err := w.all[i].Acquire(ctx, m)
	w.mu.Lock()
	if err != nil {
		w.giveBack(i)
		return nil, err
	}
	lease.Worker = w.name(i)
	lease.released = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.giveBack(i)
	}
	return lease, nil
}

func (w *Workers) name(i int) string { return w.all[i].settings.Workers[0].Name }

// giveBack takes a worker back. mu is held.
func (w *Workers) giveBack(i int) {
	w.lent[i] = false
	w.signal()
}

// signal wakes those who wait. mu is held.
func (w *Workers) signal() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// wait waits for a change, without mu.
func (w *Workers) wait(ctx context.Context) error {
	changed := w.changed
	w.mu.Unlock()
	defer w.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close stops what was started, and lets go of the rest. Nothing may be in use.
func (w *Workers) Close(ctx context.Context) error {
	faults := make([]error, len(w.all))
	var all sync.WaitGroup
	for i, s := range w.all {
		all.Go(func() { faults[i] = s.Close(ctx) })
	}
	all.Wait()
	return errors.Join(faults...)
}
