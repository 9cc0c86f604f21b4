package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"speceval/internal/clock"
	"speceval/internal/pool"
	"speceval/internal/router"
	"speceval/internal/vllm"
	"speceval/method/controller"
)

var _ router.Engine = (*Engine)(nil)

// Engine is the replicas during one run. Its methods are for one goroutine.
// When a run becomes void Next says so, in an error that wraps ErrVoid.
type Engine struct {
	pool     *pool.Pool
	settings Settings
	guard    *guard
	slots    int
	start    time.Time

	ctx   context.Context // of the run
	end   context.CancelFunc
	tasks sync.WaitGroup

	events      chan router.Event // with room for the ends of all requests that have a place
	outstanding map[int]*request  // whose last event was not taken
	now         time.Duration     // as of the last event
	waiting     atomic.Int64      // since when Next waits, in nanoseconds of the run; 0: it does not

	closing sync.Once
	broken  chan struct{} // closed when fault is set
	mu      sync.Mutex
	fault   error
}

func newEngine(ctx context.Context, w *Worker, g *guard) *Engine {
	e := &Engine{
		pool: w.pool, settings: w.settings, guard: g, slots: w.pool.Slots(),
		outstanding: make(map[int]*request), broken: make(chan struct{}),
	}
	e.events = make(chan router.Event, e.slots+1)
	e.ctx, e.end = context.WithCancel(ctx)
	e.start = w.settings.Clock.Now()
	e.tasks.Go(e.watch)
	return e
}

// Slots is the window of every replica. It stays the same when one is lost.
func (e *Engine) Slots() int { return e.slots }

// Now is the time since Begin returned.
func (e *Engine) Now() time.Duration {
	now := e.settings.Clock.Now().Sub(e.start)
	if now < e.now {
		e.void(fmt.Errorf("the clock went back by %v", e.now-now))
		return e.now
	}
	e.now = now
	return now
}

// since is a time of the clock in the run.
func (e *Engine) since(t time.Time) time.Duration { return max(0, t.Sub(e.start)) }

// Submit takes a place, in the order of the calls, and sends the rollout's
// request in the background. Where there is no place the run is void.
func (e *Engine) Submit(number int, id controller.ID) {
	ctx, cancel := context.WithCancel(e.ctx)
	place, err := e.pool.Take(ctx)
	if err != nil {
		cancel()
		e.void(fmt.Errorf("request %d, %s: %w", number, id, errors.Join(err, e.guard.pooled())))
		return
	}
	r := &request{number: number, id: id, place: place, ctx: ctx, abort: cancel, counts: e.guard.counts[place.Replica()]}
	r.counts.submitted()
	e.outstanding[number] = r
	e.tasks.Go(func() { e.carry(r) })
}

// Abort closes the request's connection, which ends it at the replica. Of one
// that has ended, nothing happens.
func (e *Engine) Abort(number int) {
	if r := e.outstanding[number]; r != nil {
		r.abort()
	}
}

// Compute runs f in a goroutine of its own. If it panics, Next says so.
func (e *Engine) Compute(f func()) {
	e.tasks.Go(func() {
		started, ended := e.since(e.settings.Clock.Now()), false
		defer func() {
			if !ended {
				e.fail(fmt.Errorf("the background computation panicked: %v\n%s", recover(), debug.Stack()))
			}
		}()
		f()
		ended = true
		select {
		case e.events <- router.Event{Kind: router.Computed, Started: started, Finished: e.since(e.settings.Clock.Now())}:
		case <-e.ctx.Done():
		}
	})
}

// Next waits for the next event. A request keeps its place until its first event is
// taken. After a Failed one, whose error wraps ErrVoid, and whenever else the run
// is void or a computation has panicked, the error says why.
func (e *Engine) Next(ctx context.Context) (router.Event, error) {
	if err := e.over(ctx); err != nil {
		return router.Event{}, err
	}
	e.waiting.Store(max(1, int64(e.since(e.settings.Clock.Now()))))
	defer e.waiting.Store(0)
	select {
	case event := <-e.events:
		if e.ctx.Err() != nil { // it may be the run's end that aborted it
			return router.Event{}, e.over(ctx)
		}
		return e.deliver(event), nil
	case <-e.broken:
	case <-e.ctx.Done():
	case <-ctx.Done():
	}
	return router.Event{}, e.over(ctx)
}

// over says why there will be no more events; nil if there may be.
func (e *Engine) over(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.fault != nil:
		return e.fault
	case ctx.Err() != nil:
		return ctx.Err()
	case e.ctx.Err() != nil:
		return fmt.Errorf("the run has ended: %w", e.ctx.Err())
	}
	return nil
}

// deliver gives the place of a request back whose event is taken. A failure
// voids the run.
func (e *Engine) deliver(event router.Event) router.Event {
	if event.Kind == router.Computed {
		return event
	}
	r := e.outstanding[event.Request]
	r.place.Release() // nothing, if it was released before
	if event.Kind == router.Answered {
		return event
	}
	delete(e.outstanding, event.Request)
	r.abort() // it has ended: this frees its context
	if event.Kind == router.Failed {
		event.Err = fmt.Errorf("%w: request %d, %s, failed: %w", ErrVoid, r.number, r.id, event.Err)
		e.fail(event.Err)
	}
	return event
}

// void ends the run because its times mean nothing.
func (e *Engine) void(reason error) { e.fail(fmt.Errorf("%w: %w", ErrVoid, reason)) }

// fail ends the run with its first fault.
func (e *Engine) fail(fault error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fault == nil {
		e.fault = fault
		close(e.broken)
	}
}

// Close aborts what is outstanding, waits until the replicas have nothing left
// to do, and says whether the run was void. It is outside the run's time. After
// the end of the context of Begin it says that, and asks the replicas nothing.
func (e *Engine) Close(ctx context.Context) error {
	e.closing.Do(func() {
		ended := e.ctx.Err()
		e.end()
		e.tasks.Wait()
		for _, r := range e.outstanding {
			r.place.Release()
		}
		if ended != nil {
			e.fail(fmt.Errorf("the run was given up: %w", ended))
		}
		e.mu.Lock()
		over := e.fault != nil
		e.mu.Unlock()
		if over {
			return
		}
		switch err := e.guard.settle(ctx, e.settings.Clock); {
		case err == nil:
		case ctx.Err() != nil:
			e.fail(errors.Join(errors.New("it is not known whether the run is void"), err))
		default:
			e.void(err)
		}
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fault
}

// guard decides from the replicas' metrics whether a run's times are valid.
//
// It finds a replica that is gone or was restarted, one with more requests than
// ours, and one that has made more tokens than ours. It does not find other load
// on a replica's machine, requests so short that no poll meets them, or so few
// tokens that they may be the last ones of requests that we aborted: see
// unseenTokens.
type guard struct {
	pool   *pool.Pool
	resent int // of the pool when the run began
	lost   int
	counts []*requestCounts
}

// A replica makes some tokens of a request after the last that we see of it
// before we leave: those of its next chunk, and those until it notices. Of
// requests that complete it counts none that we do not. (Two replicas of vLLM
// 0.23.0 made no token more in 2304 rollouts, and 28 more in 29 that were
// aborted at once, on processors that were busy eight times over.)
const (
	unseenTokens = 256 // of a request that was aborted, or that runs, at most
	spareTokens  = 64  // of a replica's count that was late when the run began
)

// faultThreshold is the number of consecutive polls that must find a fault: the
// metrics of a single poll may be behind.
const faultThreshold = 2

// errRestarted is a fault that one poll is enough to show.
var errRestarted = errors.New("was started again")

// requestCounts counts requests and tokens of one replica during a run.
type requestCounts struct {
	name   string
	tokens atomic.Int64 // of our requests, as seen so far

	mu          sync.Mutex
	outstanding int
	left        int // ended since the last poll: the replica may still have them
	broken      int // ended before their last token

	before   float64 // the replica's count of tokens at the last poll
	baseline float64 // and when the run began
	faults   int     // consecutive polls that found a fault
}

// newGuard takes the replicas' counts before a run.
func newGuard(ctx context.Context, p *pool.Pool) (*guard, error) {
	g := &guard{pool: p, resent: p.Resent(), lost: len(p.Lost())}
	for i, name := range p.Replicas() {
		m, err := p.Metrics(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("metrics of replica %s, to tell whether a run is void: %w", name, err)
		}
		g.counts = append(g.counts, &requestCounts{name: name, baseline: m.GenerationTokens, before: m.GenerationTokens})
	}
	return g, nil
}

func (t *requestCounts) submitted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outstanding++
}

func (t *requestCounts) ended(broken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outstanding--
	t.left++
	if broken {
		t.broken++
	}
}

// compare returns the fault that a replica's metrics show, nil if there is none.
// Our counts are read after the metrics were requested, so that they are not less
// than at that time.
func (t *requestCounts) compare(m vllm.Metrics) error {
	t.mu.Lock()
	ours := t.outstanding + t.left
	unseen := t.outstanding + t.broken
	t.left = 0
	t.mu.Unlock()
	if m.GenerationTokens < t.before {
		return fmt.Errorf("replica %s %w: its count of tokens fell from %.0f to %.0f", t.name, errRestarted, t.before, m.GenerationTokens)
	}
	t.before = m.GenerationTokens
	if has := m.Running + m.Waiting; has > ours {
		return fmt.Errorf("replica %s has %d requests, %d of them ours: somebody else uses it", t.name, has, ours)
	}
	made, seen := m.GenerationTokens-t.baseline, t.tokens.Load()
	if made > float64(seen+int64(unseen)*unseenTokens+spareTokens) {
		return fmt.Errorf("replica %s has made %.0f tokens, %d of them ours: somebody else uses it", t.name, made, seen)
	}
	return nil
}

// poll polls a replica's metrics and returns a fault that enough polls have found.
func (g *guard) poll(ctx context.Context, replica int) error {
	t := g.counts[replica]
	m, err := g.pool.Metrics(ctx, replica)
	switch {
	case err != nil:
		err = fmt.Errorf("replica %s does not tell its metrics: %w", t.name, err)
	default:
		err = t.compare(m)
	}
	if err == nil {
		t.faults = 0
		return nil
	}
	if t.faults++; t.faults >= faultThreshold || errors.Is(err, errRestarted) {
		return err
	}
	return nil
}

// pooled is what the pool knows to be wrong.
func (g *guard) pooled() error {
	lost := g.pool.Lost()[g.lost:]
	switch {
	case len(lost) > 0:
		return fmt.Errorf("replica %s was lost", strings.Join(lost, ", "))
	case g.pool.Resent() > g.resent:
		return errors.New("requests were sent again")
	}
	return nil
}

// The end of a run: replicas have nothing left to do soon after the last
// request.
const (
	settleWithin = 30 * time.Second
	settlePoll   = 20 * time.Millisecond
)

// settle waits until the replicas have nothing left to do, and looks at them
// for the last time.
func (g *guard) settle(ctx context.Context, c clock.Clock) error {
	faults := make([]error, len(g.counts)+1)
	var all sync.WaitGroup
	for i := range g.counts {
		all.Go(func() { faults[i] = g.drain(ctx, c, i) })
	}
	all.Wait()
	faults[len(g.counts)] = g.pooled()
	return errors.Join(faults...)
}

// drain waits until one replica has nothing left to do.
func (g *guard) drain(ctx context.Context, c clock.Clock, replica int) error {
	t, failed := g.counts[replica], 0
	for waited := time.Duration(0); ; waited += settlePoll {
		m, err := g.pool.Metrics(ctx, replica)
		if err != nil {
			if failed++; failed >= faultThreshold {
				return fmt.Errorf("replica %s does not tell its metrics: %w", t.name, err)
			}
		} else if m.Running+m.Waiting == 0 {
			return t.compare(m)
		}
		if waited >= settleWithin {
			return fmt.Errorf("replica %s has %d requests, %v after the last of ours: somebody else uses it", t.name, m.Running+m.Waiting, settleWithin)
		}
		if err := c.Sleep(ctx, settlePoll); err != nil {
			return err
		}
	}
}

// watch polls the replicas until the run ends, and checks whether Next waits too
// long.
func (e *Engine) watch() {
	for e.settings.Clock.Sleep(e.ctx, e.settings.Look) == nil {
		faults := make([]error, len(e.guard.counts)+1)
		var all sync.WaitGroup
		for i := range e.guard.counts {
			all.Go(func() { faults[i] = e.guard.poll(e.ctx, i) })
		}
		all.Wait()
		if e.ctx.Err() != nil {
			return
		}
		faults[len(faults)-1] = e.guard.pooled()
		if err := errors.Join(faults...); err != nil {
			e.void(err)
			return
		}
		since := time.Duration(e.waiting.Load())
		if waited := e.since(e.settings.Clock.Now()) - since; since > 0 && waited > e.settings.Silence {
			e.void(fmt.Errorf("no event for %v", waited.Round(time.Second)))
			return
		}
	}
}
