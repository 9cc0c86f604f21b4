package serving

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrUnserved is in the error about a model that no server serves or starts.
var ErrUnserved = errors.New("no server serves")

// Workers lends workers one by one and whole, for work that is timed: nobody
// else gets a replica of theirs meanwhile. Its methods may be called
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
		if !errors.Is(err, ErrUnserved) {
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
