package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"speceval/internal/servers/launcher"
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

// Model is a model for replicas to serve.
type Model struct {
	ID       string         // for messages
	Launch   launcher.Model // for workers with a recipe
	Requires Requirement
	Drain    <-chan struct{} // closed: nothing is waited for any more; nil: never
}

// Servers lend the replicas of workers: running servers that serve a model, and processes that
// are started for it. They are lent together to two users of a model at a time, or, by
// NewWorkers, each worker's whole to one, for work that is timed. Workers with a recipe serve one
// model at a time; another one waits until those who use the first have given it back. Methods
// may be called concurrently. The same workers must not be in use by two Servers.
type Servers struct {
	settings Settings
	users    int // of a model at a site, at most
	closing  sync.Mutex

	mu      sync.Mutex
	changed *sync.Cond // what follows
	sites   []*site
	waiting map[string]int // how many want a model and have not got it
}

// site is workers that are lent together. Servers.mu guards it.
type site struct {
	name     string // of its worker, if that is lent whole
	workers  []Worker
	busy     bool // somebody finds, starts or stops servers
	open     map[string]*group
	launched []*launcher.Servers // one a worker with a recipe, all of one model
	model    string              // that they serve; "" for none
	failed   map[[2]string]error // starts that have failed, by worker and model
}

// group is the replicas of a model in use or kept for use.
type group struct {
	*Pool
	users int
}

// New makes Servers of settings. Nothing is asked or started before Acquire. Two users of a model
// keep its replicas busy: when one comes to its end the other fills the places.
func New(s Settings) *Servers { return lending(s, 2, &site{workers: s.Workers}) }

// NewWorkers makes Servers that lend each worker whole.
func NewWorkers(s Settings) *Servers {
	var sites []*site
	for _, w := range s.Workers {
		sites = append(sites, &site{name: w.Name, workers: []Worker{w}})
	}
	return lending(s, 1, sites...)
}

func lending(s Settings, users int, sites ...*site) *Servers {
	s = s.completed()
	for _, one := range sites {
		one.open, one.failed = make(map[string]*group), make(map[[2]string]error)
	}
	all := &Servers{settings: s, users: users, sites: sites, waiting: make(map[string]int)}
	all.changed = sync.NewCond(&all.mu)
	return all
}

// Lease is the use of a model's replicas.
type Lease struct {
	*Pool
	Worker string // that was lent whole; "" if the replicas are of any worker

	release func()
}

// Acquire finds or starts replicas of a model and checks them. It waits while
// others use them, while recipes serve another model that somebody uses
// or waits for, and while no server is ready. Release gives them back.
func (s *Servers) Acquire(ctx context.Context, m Model) (*Lease, error) {
	if len(s.settings.Workers) == 0 {
		return nil, errors.New("there is no server to ask: add a [[worker]] with urls of running servers, or with a launch command")
	}
	for _, w := range s.settings.Workers {
		if w.KeyFault != nil {
			return nil, w.KeyFault
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	onDrain(m, ctx.Done(), cancel)
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed.Broadcast() // for those who left a site to us
	s.waiting[m.ID]++
	defer func() { s.waiting[m.ID]-- }()
	refusals := make([]error, len(s.sites))
	for {
		i, possible := s.choose(m.ID, refusals)
		switch {
		case !possible:
			return nil, errors.Join(refusals...)
		case i < 0 && ctx.Err() != nil:
			return nil, ctx.Err()
		case i < 0:
			s.changed.Wait()
		case s.sites[i].open[m.ID] != nil:
			return s.lease(s.sites[i], m), nil
		default:
			err := s.prepare(ctx, s.sites[i], m)
			if name := s.sites[i].name; name != "" && err != nil {
				err = fmt.Errorf("worker %s: %w", name, err)
			}
			if refusals[i] = err; err != nil && !errors.Is(err, ErrUnserved) {
				return nil, err
			}
		}
	}
}

// onDrain does something when a model's drain begins, unless it is over before.
func onDrain(m Model, over <-chan struct{}, do func()) {
	go func() {
		select {
		case <-m.Drain:
			do()
		case <-over:
		}
	}()
}

// choose is a site to ask for a model, one that has it up first; -1 if all that have not
// refused are in use or left to others. mu is held.
func (s *Servers) choose(model string, refusals []error) (at int, possible bool) {
	at = -1
	used := func(g *group) bool { return g.users > 0 }
	for i, one := range s.sites {
		if refusals[i] != nil {
			continue
		}
		if possible = true; one.busy || one.name != "" && slices.ContainsFunc(slices.Collect(maps.Values(one.open)), used) {
			continue
		}
		switch g, other := one.open[model], one.open[one.model]; {
		case g != nil && g.users < s.users:
			return i, true
		case at < 0 && g == nil && (other == nil || other.users == 0 && s.waiting[one.model] == 0):
			at = i
		}
	}
	return at, possible
}

// lease lends a model that is up. mu is held.
func (s *Servers) lease(from *site, m Model) *Lease {
	g, ended := from.open[m.ID], make(chan struct{})
	g.users++
	onDrain(m, ended, g.StopWaiting)
	return &Lease{Pool: g.Pool, Worker: from.name, release: sync.OnceFunc(func() {
		close(ended)
		s.mu.Lock()
		defer s.mu.Unlock()
		g.users--
		s.changed.Broadcast()
	})}
}

// Release gives the replicas back. They stay up for the next use.
func (l *Lease) Release() { l.release() }

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
	s.changed.Broadcast()
	return err
}

// Close stops the servers that were started, and lets go of the others. None may be in use.
// A second caller waits for the first one.
func (s *Servers) Close(ctx context.Context) error {
	s.closing.Lock()
	defer s.closing.Unlock()
	faults := make([]error, len(s.sites))
	var all sync.WaitGroup
	for i, one := range s.sites {
		all.Go(func() {
			for _, g := range one.open {
				g.Close()
			}
			clear(one.open)
			faults[i] = one.stop(ctx)
		})
	}
	all.Wait()
	return errors.Join(faults...)
}
