// Package serving finds replicas for a model: running servers that serve it,
// and processes that it starts for it. Workers with a launch recipe serve one
// model at a time; a model that is wanted waits until those who use another
// have given it back.
package serving

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"speceval/internal/clock"
	"speceval/internal/launcher"
	"speceval/internal/pool"
	"speceval/internal/vllm"
)

// Worker is a machine with replicas.
type Worker struct {
	Name   string
	URLs   []string         // of running servers
	Recipe *launcher.Recipe // starts servers; nil for those at URLs
	// Prepare makes what the recipe's servers load for a model, before they are
	// started; nil: Model.Launch, as it is.
	Prepare func(m Model) (launcher.Model, error)

	Key      vllm.Key // that its servers want; "" for none
	KeyHint  string   // where the user puts the key, for messages about one that is refused
	KeyFault error    // there should be a key and is none: nothing is asked
}

// loads is what the worker's servers load for a model.
func (w Worker) loads(m Model) (launcher.Model, error) {
	if w.Prepare == nil {
		return m.Launch, nil
	}
	return w.Prepare(m)
}

// Model is what replicas must serve.
type Model struct {
	ID       string         // for messages
	Launch   launcher.Model // for workers with a recipe
	Requires pool.Requirement
	Drain    <-chan struct{} // closed: nothing is waited for any more; nil: never
}

// Settings are what all models share.
type Settings struct {
	Workers  []Worker
	Window   int           // outstanding requests per replica
	Attempts int           // tries of a request
	Hang     time.Duration // without a token until a replica counts as hung
	Outage   time.Duration // without a live replica until requests fail
	Start    time.Duration // for launched servers to become healthy

	Logs        string                // folder of the logs of launched servers
	Environment []string              // of this process, for launched servers
	Memory      func() (int64, error) // bytes that launched servers can have; nil: not asked
	Clock       clock.Clock           // nil: clock.Wall
	Report      func(text string)     // lines for the log, from several goroutines; may be nil
}

// Servers are the replicas of all workers. Its methods may be called
// concurrently.
type Servers struct {
	settings Settings

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced whenever what follows changes
	busy     bool          // somebody finds, starts or stops servers
	open     map[string]*group
	waiting  map[string]int      // how many want a model and have not got it
	launched []*launcher.Servers // one a worker with a recipe, all of one model
	model    string              // that they serve; "" for none
}

// mostUsers of a model at a time are enough to keep its replicas busy: when one
// comes to its end the other fills the places.
const mostUsers = 2

// group is the replicas of a model in use or kept for use.
type group struct {
	*pool.Pool
	users int
}

// New makes Servers of settings. Nothing is asked or started before Acquire.
func New(s Settings) *Servers {
	if s.Report == nil {
		s.Report = func(string) {}
	}
	if s.Clock == nil {
		s.Clock = clock.Wall{}
	}
	return &Servers{settings: s, changed: make(chan struct{}), open: make(map[string]*group), waiting: make(map[string]int)}
}

// Lease is the use of a model's replicas.
type Lease struct {
	*pool.Pool
	Worker string // that was lent whole; "" if the replicas are of any worker

	servers  *Servers
	group    *group
	once     sync.Once
	ended    chan struct{}
	released func() // what else to do then; nil for nothing
}

var errNoWorkers = errors.New("there is no server to ask: add a [[worker]] with urls of running servers, or with a launch command")

// Acquire finds or starts replicas of a model and checks them. It waits while
// two others use them, while recipes serve another model that somebody uses
// or waits for, and while no server is ready. Release gives them back.
func (s *Servers) Acquire(ctx context.Context, m Model) (*Lease, error) {
	if len(s.settings.Workers) == 0 {
		return nil, errNoWorkers
	}
	for _, w := range s.settings.Workers {
		if w.KeyFault != nil {
			return nil, w.KeyFault
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-m.Drain:
			cancel()
		case <-ctx.Done():
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[m.ID]++
	defer func() { s.waiting[m.ID]-- }()
	for {
		g := s.open[m.ID]
		switch {
		case g != nil && g.users < mostUsers:
			g.users++
			l := &Lease{Pool: g.Pool, servers: s, group: g, ended: make(chan struct{})}
			go l.drain(m.Drain)
			return l, nil
		case g == nil && s.free():
			if err := s.prepare(ctx, m); err != nil {
				return nil, err
			}
		default:
			if err := s.wait(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// free reports whether servers may be found, started and stopped now: no other
// goroutine does so, and the model that recipes serve is neither in use nor waited
// for. mu is held.
func (s *Servers) free() bool {
	if s.busy {
		return false
	}
	g := s.open[s.model]
	return g == nil || g.users == 0 && s.waiting[s.model] == 0
}

// wait waits for a change, without mu.
func (s *Servers) wait(ctx context.Context) error {
	changed := s.changed
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain ends waiting for the replicas when the user's work is to end.
func (l *Lease) drain(drain <-chan struct{}) {
	select {
	case <-drain:
		l.Pool.StopWaiting()
	case <-l.ended:
	}
}

// Release gives the replicas back. They stay up for the next use.
func (l *Lease) Release() {
	l.once.Do(func() {
		close(l.ended)
		l.servers.mu.Lock()
		l.group.users--
		l.servers.signal()
		l.servers.mu.Unlock()
		if l.released != nil {
			l.released()
		}
	})
}

// signal wakes those who wait. mu is held.
func (s *Servers) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// prepare opens a group for the model, without mu.
func (s *Servers) prepare(ctx context.Context, m Model) error {
	s.busy = true
	s.mu.Unlock()
	p, err := s.gather(ctx, m)
	s.mu.Lock()
	if err == nil {
		s.open[m.ID] = &group{Pool: p}
	}
	s.busy = false
	s.signal()
	return err
}

// Close stops what was started, and lets go of the rest. Nothing may be in use.
func (s *Servers) Close(ctx context.Context) error {
	s.mu.Lock()
	groups := s.open
	s.open = make(map[string]*group)
	s.mu.Unlock()
	for _, g := range groups {
		g.Close()
	}
	return s.stop(ctx)
}

// stop ends launched servers.
func (s *Servers) stop(ctx context.Context) error {
	s.mu.Lock()
	launched := s.launched
	s.launched, s.model = nil, ""
	s.mu.Unlock()
	var errs []error
	for _, l := range launched {
		if err := l.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop servers: %w", err))
		}
	}
	return errors.Join(errs...)
}

// started notes servers that serve a model now.
func (s *Servers) started(l *launcher.Servers, model string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launched, s.model = append(s.launched, l), model
}
