// Package pool spreads requests over the replicas of one model. A replica has
// at most a window of requests at a time; a request goes to the replica with
// the fewest, waits in the pool while all are full, and goes to another when
// its replica dies. Replicas that died or hang are put aside and come back when
// they prove well.
package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"speceval/internal/clock"
	"speceval/internal/servers/vllm"
)

// Errors of the pool itself. Those of servers are *vllm.Error.
var (
	// ErrClosed: the pool was closed before or while the request ran.
	ErrClosed = errors.New("the pool is closed")
	// ErrOutage: no replica has been alive for Settings.Outage.
	ErrOutage = errors.New("no replica is alive")
	// ErrDeadly: Settings.Deaths replicas died while they worked on the request.
	ErrDeadly = errors.New("replicas die of this request, or with it")
)

// Replica is one server.
type Replica struct {
	Name   string // in messages and results; "" stands for its URL
	Client *vllm.Client
	// Restart brings it up again where it is dead or hung, and returns when it is healthy;
	// nil: the pool cannot, and waits for others to do it.
	Restart func(ctx context.Context) error
}

// Settings are how a pool works. Window and Attempts must be at least 1; a time
// of zero switches off what it limits, except Outage, which is then no wait.
type Settings struct {
	Window   int           // most requests outstanding at a replica
	Attempts int           // of a request, in all; one that its replica's death ended does not count
	Deaths   int           // of replicas during one request, after which it is given up; 0: 5
	Outage   time.Duration // longest wait with no replica alive
	Hang     time.Duration // a replica that runs requests and makes no token for so long is hung
	Poll     time.Duration // interval between polls of the replicas' metrics
	Clock    clock.Clock   // nil: clock.Wall

	// Report gets lines for the log, from several goroutines; it may be nil.
	Report func(text string)
}

// Pool is a set of replicas and the requests on their way to them. Its methods
// may be called concurrently.
type Pool struct {
	settings Settings
	ctx      context.Context // ends with Close
	end      context.CancelFunc
	waits    context.Context // ends with StopWaiting
	stop     context.CancelFunc
	tasks    sync.WaitGroup // the pool's own goroutines

	mu          sync.Mutex
	closed      bool
	held        bool // by Reset: nothing is given out
	replicas    []*replica
	alive       int
	waiting     []*Place // in order of arrival
	arrivals    uint64
	outage      error              // for all requests, once an outage has lasted too long
	endOutage   context.CancelFunc // of the watch on an outage
	requirement *Requirement       // of Open; nil: none
	served      []Served           // what those turned out to be that were there then
	resent      int
	mended      int // halves of characters in answers
	lost        []string
}

// replica is one server and the pool's view of it. Pool.mu guards it.
type replica struct {
	Replica
	index  int
	alive  bool
	life   int // how often it came back: failures of an earlier life do not count
	places map[*Place]bool
	model  string  // of the latest request
	fault  error   // why it is not alive
	found  *Served // what it was at Open; nil if it was not there

	rested time.Time // no request goes there before
	rests  int       // since a request was answered
	slow   bool      // that it rests has been reported
}

// complete fills in what is not set.
func (s *Settings) complete() {
	s.Window, s.Attempts = max(s.Window, 1), max(s.Attempts, 1)
	if s.Deaths == 0 {
		s.Deaths = 5
	}
	if s.Clock == nil {
		s.Clock = clock.Wall{}
	}
	if s.Report == nil {
		s.Report = func(string) {}
	}
}

// Open makes a pool of the replicas that serve a model as required, and of those that are not
// there yet. It leaves out servers of other models. Its error names every fault of every
// replica, and what to do; it wraps ErrUnserved where no replica is left that is there. A
// replica that comes, or comes back, has to meet the same requirement.
func Open(ctx context.Context, replicas []Replica, need Requirement, s Settings) (*Pool, error) {
	s.complete()
	served, errs := make([]Served, len(replicas)), make([]error, len(replicas))
	var all sync.WaitGroup
	for i, r := range replicas {
		all.Go(func() { served[i], errs[i] = s.probe(ctx, r.Client, need) })
	}
	all.Wait()
	var members []Replica
	var found []*Served // of each member; nil: it is not there, for a reason
	var there []Served
	var faults, reasons, dead []error
	for i, r := range replicas {
		switch err := errs[i]; {
		case err == nil:
			there = append(there, served[i])
			members, found = append(members, r), append(found, &served[i])
		case isLate(err):
			members, found = append(members, r), append(found, nil)
			reasons, dead = append(reasons, err), append(dead, err)
		case errors.Is(err, errServes):
			reasons = append(reasons, err)
		default:
			faults = append(faults, err)
		}
	}
	if versions := releases(there); len(versions) > 1 && !need.Foreign {
		faults = append(faults, fmt.Errorf("replicas run different versions of vLLM (%s): run one", strings.Join(versions, ", ")))
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(faults) > 0:
		return nil, errors.Join(append(faults, reasons...)...)
	case len(there) == 0:
		return nil, fmt.Errorf("%w %q:\n%w", ErrUnserved, need.Model, errors.Join(reasons...))
	}
	if need.Version == "" && !need.Foreign {
		need.Version = release(there[0].Version) // for those that come back, or are late
	}
	p := New(members, s)
	p.mu.Lock()
	p.requirement, p.served = &need, there
	for i, r := range p.replicas {
		r.found = found[i]
	}
	p.mu.Unlock()
	for _, r := range p.replicas {
		if r.found == nil {
			p.takeOut(r, 0, dead[0], nil)
			dead = dead[1:]
		}
	}
	return p, nil
}

// New makes a pool of replicas that are taken to be alive, and good for every model, until
// they fail. It must be closed.
func New(replicas []Replica, s Settings) *Pool {
	s.complete()
	p := &Pool{settings: s, alive: len(replicas)}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.waits, p.stop = context.WithCancel(context.Background())
	for i, r := range replicas {
		if r.Name == "" {
			r.Name = r.Client.URL()
		}
		p.replicas = append(p.replicas, &replica{Replica: r, index: i, alive: true, places: map[*Place]bool{}})
	}
	if len(replicas) == 0 {
		p.outage = fmt.Errorf("%w: the pool has none", ErrOutage)
	}
	if s.Hang > 0 && s.Poll > 0 {
		for _, r := range p.replicas {
			p.tasks.Go(func() { p.watch(r) })
		}
	}
	return p
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
	if p.mended > 0 {
		p.settings.Report(fmt.Sprintf("answers had %d halves of surrogate pairs, each of which was replaced by U+FFFD", p.mended))
	}
}

// StopWaiting ends all waiting, now and from now on: requests that replicas have go on, others
// and those that would be tried again return vllm.ErrStopped.
func (p *Pool) StopWaiting() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
	p.refuse(vllm.ErrStopped)
}

// patience is the pool's clock, by which nothing sleeps after StopWaiting.
type patience struct {
	clock.Clock
	waits context.Context
}

// Sleep waits between two tries.
func (c patience) Sleep(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.waits, func() { cancel(vllm.ErrStopped) })()
	if c.Clock.Sleep(ctx, d) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Slots is how many requests can be outstanding at the replicas now alive.
func (p *Pool) Slots() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings.Window * p.alive
}

// Served is what the replicas turned out to be that were there at Open.
func (p *Pool) Served() []Served { return p.served }

// Places is how many requests can be outstanding with all replicas there.
func (p *Pool) Places() int { return p.settings.Window * len(p.replicas) }

// Continues reports whether every replica continues answers from their prefix. It
// is false unless the requirement asked for that.
func (p *Pool) Continues() bool {
	return len(p.served) > 0 && !slices.ContainsFunc(p.served, func(s Served) bool { return !s.Continues })
}

// Versions are those of the replicas, without repetition, sorted.
func (p *Pool) Versions() []string {
	versions := make(map[string]bool)
	for _, s := range p.served {
		versions[s.Version] = true
	}
	return slices.Sorted(maps.Keys(versions))
}

// ThinkEnd is the token </think>, the same of all replicas: they serve one model.
func (p *Pool) ThinkEnd() int32 { return p.served[0].ThinkEnd }

// Resent counts the requests that were sent again, for whatever reason. Timings
// during which it grew are void.
func (p *Pool) Resent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resent
}

// Complete asks one of the replicas for a completion, and returns the name of
// the replica that it came from, or that failed last.
func (p *Pool) Complete(ctx context.Context, r vllm.Request) (vllm.Completion, string, error) {
	return p.request(ctx, r, answer{}, func(ctx context.Context, c *vllm.Client, r vllm.Request, _ func(vllm.Piece)) (vllm.Completion, error) {
		if c.Plain() { // whose silence shows in pieces only
			return c.Stream(ctx, r, nil)
		}
		return c.Complete(ctx, r)
	})
}

// Stream is Complete in pieces, which seen hears. A request that is lost under way
// goes on from what was seen of its answer, at any replica, or begins anew, which
// its first piece says then: see vllm.OnLoss. Ids of tokens are asked for of servers
// alone that tell them.
func (p *Pool) Stream(ctx context.Context, r vllm.Request, seen func(vllm.Piece)) (vllm.Completion, string, error) {
	return p.request(ctx, r, answer{seen: seen, streams: true}, func(ctx context.Context, c *vllm.Client, r vllm.Request, hear func(vllm.Piece)) (vllm.Completion, error) {
		r.TokenIDs = r.TokenIDs && !c.Plain()
		return c.Stream(ctx, r, hear)
	})
}

// Replicas are the names of all replicas, those that are out too.
func (p *Pool) Replicas() []string {
	names := make([]string, len(p.replicas))
	for i, r := range p.replicas {
		names[i] = r.Name
	}
	return names
}

// Alive is how many replicas are not out.
func (p *Pool) Alive() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alive
}

// Metrics asks one replica what it says of itself.
func (p *Pool) Metrics(ctx context.Context, replica int) (vllm.Metrics, error) {
	return p.replicas[replica].Client.Metrics(ctx)
}

// Lost are the names of the replicas that were taken out, each as often as it
// was. Timings during which it grew are void.
func (p *Pool) Lost() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lost)
}

// errTakenOut is the cause for which the requests of a replica are aborted.
var errTakenOut = errors.New("the replica is taken out")

// acquire waits for a place at a replica, in order of arrival.
func (p *Pool) acquire(ctx context.Context, j *job) (*Place, error) {
	l := &Place{pool: p, arrival: j.arrival, model: j.request.Model, ready: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	p.mu.Lock()
	switch {
	case p.closed:
		l.err = ErrClosed
	case p.outage != nil:
		l.err = p.outage
	case p.waits.Err() != nil && p.leastLoaded() == nil:
		l.err = vllm.ErrStopped
	default:
		at, _ := slices.BinarySearchFunc(p.waiting, l, func(a, b *Place) int { return cmp.Compare(a.arrival, b.arrival) })
		p.waiting = slices.Insert(p.waiting, at, l)
		p.dispatch()
	}
	decided := l.err != nil || l.replica != nil
	p.mu.Unlock()
	if !decided {
		select {
		case <-l.ready:
		case <-ctx.Done():
			p.release(l)
			return nil, fmt.Errorf("given up while waiting for a replica: %w", ctx.Err())
		}
	}
	if l.err != nil {
		l.cancel(nil)
		return nil, l.err
	}
	return l, nil
}

// release gives a place back, in the queue or at a replica.
func (p *Pool) release(l *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.cancel(nil)
	if l.replica == nil {
		p.waiting = slices.DeleteFunc(p.waiting, func(w *Place) bool { return w == l })
		return
	}
	delete(l.replica.places, l)
	p.dispatch()
}

// answered notes that a replica has served a request, in whose answer characters were mended.
func (p *Pool) answered(r *replica, mended int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mended += mended
	r.rests = 0
}

// dispatch gives free places to those who wait. Pool.mu is held.
func (p *Pool) dispatch() {
	for len(p.waiting) > 0 && !p.held {
		r := p.leastLoaded()
		if r == nil {
			return
		}
		l := p.waiting[0]
		p.waiting = slices.Delete(p.waiting, 0, 1)
		l.replica, l.life = r, r.life
		r.places[l] = true
		r.model = l.model
		close(l.ready)
	}
}

// leastLoaded is the replica with the fewest requests, the first of those; nil
// if all are full, dead or at rest.
func (p *Pool) leastLoaded() *replica {
	var least *replica
	for _, r := range p.replicas {
		if !r.rested.IsZero() && p.settings.Clock.Now().Before(r.rested) {
			continue
		}
		if r.alive && len(r.places) < p.settings.Window && (least == nil || len(r.places) < len(least.places)) {
			least = r
		}
	}
	return least
}

// refuse turns everyone away who waits. Pool.mu is held.
func (p *Pool) refuse(err error) {
	for _, l := range p.waiting {
		l.err = err
		close(l.ready)
	}
	p.waiting = nil
}

// revoke aborts the requests at a replica. Pool.mu is held.
func (r *replica) revoke(cause error) {
	for l := range r.places {
		l.cancel(cause)
	}
}
