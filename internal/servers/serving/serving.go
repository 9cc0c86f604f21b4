// Package serving finds replicas for a model: running servers that serve it,
// and processes that it starts for it. Workers with a launch recipe serve one
// model at a time; a model that is wanted waits until those who use another
// have given it back.
package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"speceval/internal/clock"
	"speceval/internal/servers/launcher"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
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

// Servers lend the replicas of workers. They are lent together to two users of a model at
// a time, or, by NewWorkers, each worker's whole to one, for work that is timed. Methods may be
// called concurrently. The same workers must not be in use by two Servers.
type Servers struct {
	settings Settings
	whole    bool // workers are lent one by one

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever what follows changes
	sites   []*site
	waiting map[string]int // how many want a model and have not got it
}

// mostUsers of a model at a time are enough to keep its replicas busy: when one
// comes to its end the other fills the places.
const mostUsers = 2

// site is workers that are lent together. Servers.mu guards it.
type site struct {
	workers  []Worker
	busy     bool // somebody finds, starts or stops servers
	open     map[string]*group
	launched []*launcher.Servers // one a worker with a recipe, all of one model
	model    string              // that they serve; "" for none
}

// group is the replicas of a model in use or kept for use.
type group struct {
	*pool.Pool
	users int
}

// New makes Servers of settings. Nothing is asked or started before Acquire.
func New(s Settings) *Servers { return lending(s, false, s.Workers) }

// NewWorkers makes Servers that lend each worker whole.
func NewWorkers(s Settings) *Servers {
	return lending(s, true, slices.Collect(slices.Chunk(s.Workers, 1))...)
}

func lending(s Settings, whole bool, workers ...[]Worker) *Servers {
	if s.Report == nil {
		s.Report = func(string) {}
	}
	if s.Clock == nil {
		s.Clock = clock.Wall{}
	}
	l := &Servers{settings: s, whole: whole, changed: make(chan struct{}), waiting: make(map[string]int)}
	for _, w := range workers {
		l.sites = append(l.sites, &site{workers: w, open: make(map[string]*group)})
	}
	return l
}

// Lease is the use of a model's replicas.
type Lease struct {
	*pool.Pool
	Worker string // that was lent whole; "" if the replicas are of any worker

	servers *Servers
	group   *group
	once    sync.Once
	ended   chan struct{}
}

var errNoWorkers = errors.New("there is no server to ask: add a [[worker]] with urls of running servers, or with a launch command")

// Acquire finds or starts replicas of a model and checks them. It waits while
// others use them, while recipes serve another model that somebody uses
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
	defer s.signal() // for those who left a site to us
	s.waiting[m.ID]++
	defer func() { s.waiting[m.ID]-- }()
	refusals := make([]error, len(s.sites))
	for {
		i, possible := s.choose(m.ID, refusals)
		switch {
		case !possible:
			return nil, errors.Join(refusals...)
		case i < 0:
			if err := s.wait(ctx); err != nil {
				return nil, err
			}
		case s.sites[i].open[m.ID] != nil:
			return s.lease(s.sites[i], m), nil
		default:
			err := s.prepare(ctx, s.sites[i], m)
			if s.whole && err != nil {
				err = fmt.Errorf("worker %s: %w", s.sites[i].workers[0].Name, err)
			}
			if refusals[i] = err; err != nil && !errors.Is(err, pool.ErrUnserved) {
				return nil, err
			}
		}
	}
}

// choose is a site to ask for a model, one that has it up first; -1 if all that have not
// refused are in use or left to others. mu is held.
func (s *Servers) choose(model string, refusals []error) (at int, possible bool) {
	at = -1
	for i, one := range s.sites {
		if refusals[i] != nil {
			continue
		}
		possible = true
		g, other := one.open[model], one.open[one.model]
		switch {
		case one.busy || s.whole && one.users() > 0:
		case g != nil && g.users < mostUsers:
			return i, true
		case at < 0 && g == nil && (other == nil || other.users == 0 && s.waiting[one.model] == 0):
			at = i
		}
	}
	return at, possible
}

func (s *site) users() (n int) {
	for _, g := range s.open {
		n += g.users
	}
	return n
}

// lease lends a model that is up. mu is held.
func (s *Servers) lease(from *site, m Model) *Lease {
	g := from.open[m.ID]
	g.users++
	l := &Lease{Pool: g.Pool, servers: s, group: g, ended: make(chan struct{})}
	if s.whole {
		l.Worker = from.workers[0].Name
	}
	go func() {
		select {
		case <-m.Drain:
			l.Pool.StopWaiting()
		case <-l.ended:
		}
	}()
	return l
}

// Release gives the replicas back. They stay up for the next use.
func (l *Lease) Release() {
	l.once.Do(func() {
		close(l.ended)
		l.servers.mu.Lock()
		defer l.servers.mu.Unlock()
		l.group.users--
		l.servers.signal()
	})
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

// signal wakes those who wait. mu is held.
func (s *Servers) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// prepare opens a group for the model, without mu. Of a site that is busy others use only
// groups that are open.
func (s *Servers) prepare(ctx context.Context, at *site, m Model) error {
	at.busy = true
	s.mu.Unlock()
	p, err := s.gather(ctx, at, m)
	s.mu.Lock()
	if err == nil {
		at.open[m.ID] = &group{Pool: p}
	}
	at.busy = false
	s.signal()
	return err
}

// Close stops what was started, and lets go of the rest. Nothing may be in use.
func (s *Servers) Close(ctx context.Context) error {
	faults := make([]error, len(s.sites))
	var all sync.WaitGroup
	for i, one := range s.sites {
		all.Go(func() {
			s.mu.Lock()
			groups := one.open
			one.open = make(map[string]*group)
			s.mu.Unlock()
			for _, g := range groups {
				g.Close()
			}
			faults[i] = s.stop(ctx, one)
		})
	}
	all.Wait()
	return errors.Join(faults...)
}
