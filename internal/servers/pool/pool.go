// Package pool spreads requests over the replicas of one model. A replica has at most a window
// of requests at a time; a request goes to the replica with the fewest, waits in the pool while
// all are full, and goes to another when its replica dies or hangs. Such replicas are out until
// they prove well. Servers find and start the replicas of models, and lend pools of them.
package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"speceval/internal/machine/clock"
	"speceval/internal/servers/vllm"
)

// Errors of the pool itself. Those of servers are *vllm.Error.
var (
	// ErrClosed: the pool was closed before or while the request ran.
	ErrClosed = errors.New("the pool is closed")
	// ErrOutage: no replica has been alive for Settings.Outage.
	ErrOutage = errors.New("no replica is alive")
)

// Replica is one server.
type Replica struct {
	Name   string       // in messages and results; "" stands for its URL
	Client *vllm.Client // that ends a stream in which no token comes: so hung servers are found
	// Restart brings it up again where it is dead or hung, and returns when it is healthy;
	// nil: the pool cannot, and waits for others to do it.
	Restart func(ctx context.Context) error
}

// Settings are how a pool works, and Servers with the pools that they lend. Window and Attempts
// must be at least 1.
type Settings struct {
	Window   int           // most requests outstanding at a replica
	Attempts int           // times that a server fails a request, or dies during it, until it is given up
	Outage   time.Duration // longest wait with no replica alive
	Clock    clock.Clock   // nil: clock.Wall

	// Report gets lines for the log, from several goroutines; it may be nil.
	Report func(text string)

	// Of Servers:
	Workers     []Worker
	Hang        time.Duration // without a token until a replica counts as hung
	Start       time.Duration // for launched servers to become healthy
	Logs        string        // folder of the logs of launched servers
	Environment []string      // of this process, for launched servers
}

// Pool is a set of replicas and the requests on their way to them. Its methods
// may be called concurrently.
type Pool struct {
	settings    Settings
	requirement Requirement
	served      []Served        // what those turned out to be that were there at Open
	ctx         context.Context // ends with Close
	end         context.CancelFunc
	waits       context.Context // ends with StopWaiting
	stop        context.CancelFunc
	tasks       sync.WaitGroup // the pool's own goroutines
	arrivals    atomic.Uint64  // of requests
	resent      atomic.Int64

	mu        sync.Mutex
	closed    bool
	replicas  []*replica
	alive     int
	waiting   []*Place           // in order of arrival
	outage    error              // for all requests, once an outage has lasted too long
	endOutage context.CancelFunc // of the watch on an outage
	lost      []string
}

// replica is one server and the pool's view of it. Pool.mu guards it.
type replica struct {
	Replica
	index  int
	alive  bool
	life   int // how often it came back: failures of an earlier life do not count
	places map[*Place]bool
	fault  error   // why it is not alive
	found  *Served // what it was at Open; nil if it was not there

	rested time.Time // no request goes there before
	rests  int       // since a request was answered
	slow   bool      // that it rests has been reported
}

// Open makes a pool of the replicas that serve a model as required, and of replicas that are
// not there yet. It leaves out servers of other models. Its error names every fault of every
// replica, and what to do; it wraps ErrUnserved if no live replica is left. A replica that
// comes, or comes back, has to meet the same requirement. The pool must be closed.
func Open(ctx context.Context, replicas []Replica, need Requirement, s Settings) (*Pool, error) {
	p := &Pool{settings: s.completed(), requirement: need}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.waits, p.stop = context.WithCancel(context.Background())
	served, errs := make([]Served, len(replicas)), make([]error, len(replicas))
	var all sync.WaitGroup
	for i, r := range replicas {
		all.Go(func() { served[i], errs[i] = p.probe(ctx, r.Client) })
	}
	all.Wait()
	var faults, reasons []error
	for i, err := range errs {
		switch {
		case err == nil:
			p.served = append(p.served, served[i])
			p.addReplica(replicas[i]).found = &served[i]
		case isLate(err):
			p.addReplica(replicas[i]).fault = err
			reasons = append(reasons, err)
		case errors.Is(err, errServes):
			reasons = append(reasons, err)
		default:
			faults = append(faults, err)
		}
	}
	if versions := distinct(p.served, func(s Served) string { return release(s.Version) }); len(versions) > 1 && !need.Foreign {
		faults = append(faults, fmt.Errorf("replicas run different versions of vLLM (%s): run one", strings.Join(versions, ", ")))
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(faults) > 0:
		return nil, errors.Join(append(faults, reasons...)...)
	case len(p.served) == 0:
		return nil, fmt.Errorf("%w %q:\n%w", ErrUnserved, need.Model, errors.Join(reasons...))
	}
	if need.Version == "" && !need.Foreign {
		p.requirement.Version = release(p.served[0].Version) // for replicas that come back, or are late
	}
	for _, r := range p.replicas {
		if r.found == nil {
			p.takeOut(r, 0, r.fault)
		}
	}
	return p, nil
}

// completed is the settings with what is nil filled in.
func (s Settings) completed() Settings {
	if s.Clock == nil {
		s.Clock = clock.Wall{}
	}
	if s.Report == nil {
		s.Report = func(string) {}
	}
	return s
}

// addReplica adds a replica that is taken to be alive.
func (p *Pool) addReplica(r Replica) *replica {
	if r.Name == "" {
		r.Name = r.Client.URL()
	}
	p.replicas = append(p.replicas, &replica{Replica: r, index: len(p.replicas), alive: true, places: map[*Place]bool{}})
	p.alive++
	return p.replicas[len(p.replicas)-1]
}

// Close aborts all requests, which return ErrClosed, and returns when the
// pool's own work has ended.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, r := range p.replicas {
		r.revoke(ErrClosed)
	}
	p.refuse(ErrClosed)
	p.mu.Unlock()
	p.end()
	p.tasks.Wait()
	for _, r := range p.replicas {
		r.Client.Close()
	}
}

// StopWaiting ends all waiting, now and from now on: requests that replicas have go on. All
// others, and all retries, return vllm.ErrStopped.
func (p *Pool) StopWaiting() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
	p.refuse(vllm.ErrStopped)
}

// Places is how many requests can be outstanding with all replicas there.
func (p *Pool) Places() int { return p.settings.Window * len(p.replicas) }

// Alive is how many replicas are not out.
func (p *Pool) Alive() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alive
}

// Resent counts the requests that were sent again, for whatever reason. Timings
// during which it grew are void.
func (p *Pool) Resent() int { return int(p.resent.Load()) }

// Lost are the names of the replicas that were taken out, each as often as it
// was. Timings during which it grew are void.
func (p *Pool) Lost() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lost)
}

// Served describes the replicas that were there at Open, as they turned out to be.
func (p *Pool) Served() []Served { return p.served }

// Replicas returns all replicas, also the ones that are out.
func (p *Pool) Replicas() []Replica {
	all := make([]Replica, len(p.replicas))
	for i, r := range p.replicas {
		all[i] = r.Replica
	}
	return all
}

// Continues reports whether every replica continues answers from their prefix. It
// is false unless the requirement asked for that.
func (p *Pool) Continues() bool {
	return len(p.served) > 0 && !slices.ContainsFunc(p.served, func(s Served) bool { return !s.Continues })
}

// Versions returns the versions of the replicas, without repetition, sorted.
func (p *Pool) Versions() []string {
	return distinct(p.served, func(s Served) string { return s.Version })
}

// distinct are the different values of replicas, sorted.
func distinct(served []Served, of func(Served) string) []string {
	values := make(map[string]bool)
	for _, s := range served {
		values[of(s)] = true
	}
	return slices.Sorted(maps.Keys(values))
}

// ThinkEnd is the token </think>, the same of all replicas: they serve one model.
func (p *Pool) ThinkEnd() int32 { return p.served[0].ThinkEnd }
