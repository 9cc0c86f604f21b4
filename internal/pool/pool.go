package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"speceval/internal/clock"
	"speceval/internal/vllm"
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
}

// Settings are how a pool works. Window and Attempts must be at least 1; a time
// of zero switches off what it limits, except Outage, which is then no wait.
type Settings struct {
	Window   int           // most requests outstanding at a replica
	Attempts int           // of a request, in all; one that its replica's death ended does not count
	Deaths   int           // of replicas during one request, after which it is given up; 0: 5
	Outage   time.Duration // longest wait with no replica alive
	Hang     time.Duration // a replica that runs requests and makes no token for so long is hung
	Poll     time.Duration // between two looks at the replicas' metrics
	Clock    clock.Clock   // nil: clock.Wall

	// Report gets lines for the log, from several goroutines; it may be nil.
	Report func(text string)
	// Restart brings a dead or hung replica up again and returns when it is
	// healthy; nil: the pool cannot, and waits for others to do it.
	Restart func(ctx context.Context, replica int) error
}

// Pool is a set of replicas and the requests on their way to them. Its methods
// may be called concurrently.
type Pool struct {
	settings Settings
	ctx      context.Context // ends with Close
	end      context.CancelFunc
	tasks    sync.WaitGroup // the pool's own goroutines

	mu          sync.Mutex
	closed      bool
	held        bool // by Reset: nothing is given out
	replicas    []*replica
	alive       int
	waiting     []*lease // in order of arrival
	arrivals    uint64
	outage      error              // for all requests, once an outage has lasted too long
	endOutage   context.CancelFunc // of the watch on an outage
	requirement *Requirement       // of the last Check
	resent      int
	lost        []string
}

// replica is one server and the pool's view of it. Pool.mu guards it.
type replica struct {
	Replica
	index  int
	alive  bool
	life   int // how often it came back: failures of an earlier life do not count
	leases map[*lease]bool
	model  string  // of the latest request
	fault  error   // why it is not alive
	found  *Served // what it was when it was checked; nil if it was not there

	rested time.Time // no request goes there before
	rests  int       // since a request was answered
	slow   bool      // that it rests has been reported
}

// New makes a pool of replicas that are taken to be alive until they fail. See
// Check. It must be closed.
func New(replicas []Replica, s Settings) *Pool {
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
	p := &Pool{settings: s, alive: len(replicas)}
	p.ctx, p.end = context.WithCancel(context.Background())
	for i, r := range replicas {
		if r.Name == "" {
			r.Name = r.Client.URL()
		}
		p.replicas = append(p.replicas, &replica{Replica: r, index: i, alive: true, leases: map[*lease]bool{}})
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
}

// Slots is how many requests can be outstanding at the replicas now alive.
func (p *Pool) Slots() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings.Window * p.alive
}

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
