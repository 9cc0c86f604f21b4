package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"speceval/internal/servers/vllm"
)

// ErrFull: no replica that is alive has a free place now.
var ErrFull = errors.New("no replica has a free place")

// Place is room for one request at one replica. Requests of Stream wait for one.
// Take takes one at once, in the order in which its callers ask, for those who time requests:
// what is sent there is sent once.
type Place struct {
	pool    *Pool
	arrival uint64          // in the queue
	ctx     context.Context // of the request
	cancel  context.CancelCauseFunc
	once    sync.Once

	ready   chan struct{} // closed when one of the following is set
	err     error         // there will be no place
	replica *replica
	life    int // of the replica
}

// loss is the error of a request whose replica died or hangs.
type loss struct {
	replica string
	fault   error
	unsent  bool // the replica cannot have had the request
}

func (l *loss) Error() string { return fmt.Sprintf("replica %s is lost: %v", l.replica, l.fault) }
func (l *loss) Unwrap() error { return l.fault }

// Take takes a place at the replica with the fewest requests, the first of several, without
// waiting. The error is ErrFull if there is none. The end of ctx aborts the request. The
// place must be released.
func (p *Pool) Take(ctx context.Context) (*Place, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.leastLoaded()
	if err := p.turnedAway(); err != nil || r == nil {
		return nil, cmp.Or(err, ErrFull)
	}
	l := p.place(ctx, 0)
	r.give(l)
	return l, nil
}

func (p *Pool) place(ctx context.Context, arrival uint64) *Place {
	l := &Place{pool: p, arrival: arrival, ready: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	return l
}

// Replica is the number of the replica in the pool, from 0.
func (l *Place) Replica() int { return l.replica.index }

// Stream sends the one request of this place. With an error, the Completion
// holds what was received before it. A replica that died of the request or before
// is taken out of the pool, as with Pool.Stream.
func (l *Place) Stream(r vllm.Request, seen func(vllm.Piece)) (vllm.Completion, error) {
	p, replica := l.pool, l.replica
	completion, err := replica.Client.Stream(l.ctx, r, seen)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		replica.rests = 0
		return completion, nil
	}
	var e *vllm.Error
	var lost *loss
	switch cause := context.Cause(l.ctx); {
	case errors.Is(cause, ErrClosed):
		return completion, ErrClosed
	case errors.As(cause, &lost):
		return completion, lost
	case l.ctx.Err() != nil || !errors.As(err, &e):
	case e.Limited():
		p.rest(replica, e)
	case e.Kind == vllm.Unreachable || e.Kind == vllm.EngineDead || e.Kind == vllm.Idle,
		e.Kind == vllm.Cut && replica.Client.Health(l.ctx) != nil && l.ctx.Err() == nil:
		p.takeOut(replica, l.life, err)
		return completion, &loss{replica.Name, err, e.Unsent}
	}
	return completion, err
}

// Release gives the place back, in the queue or at a replica. Further calls do nothing.
func (l *Place) Release() {
	l.once.Do(func() {
		p := l.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		l.cancel(nil)
		if l.replica == nil {
			p.waiting = slices.DeleteFunc(p.waiting, func(w *Place) bool { return w == l })
			return
		}
		delete(l.replica.places, l)
		p.dispatch()
	})
}

// acquire waits for a place at a replica, in order of arrival.
func (p *Pool) acquire(ctx context.Context, arrival uint64) (*Place, error) {
	l := p.place(ctx, arrival)
	p.mu.Lock()
	if l.err = p.turnedAway(); l.err == nil && p.waits.Err() != nil && p.leastLoaded() == nil {
		l.err = vllm.ErrStopped
	}
	if l.err != nil {
		close(l.ready)
	} else {
		at, _ := slices.BinarySearchFunc(p.waiting, l, func(a, b *Place) int { return cmp.Compare(a.arrival, b.arrival) })
		p.waiting = slices.Insert(p.waiting, at, l)
		p.dispatch()
	}
	p.mu.Unlock()
	select {
	case <-l.ready:
	case <-ctx.Done():
		l.Release()
		return nil, fmt.Errorf("given up while waiting for a replica: %w", ctx.Err())
	}
	if l.err != nil {
		l.cancel(nil)
	}
	return l, l.err
}

// turnedAway is why no request gets a place; nil if requests do. Pool.mu is held.
func (p *Pool) turnedAway() error {
	if p.closed {
		return ErrClosed
	}
	return p.outage
}

// dispatch gives free places to those who wait. Pool.mu is held.
func (p *Pool) dispatch() {
	for len(p.waiting) > 0 {
		r := p.leastLoaded()
		if r == nil {
			return
		}
		r.give(p.waiting[0])
		p.waiting = slices.Delete(p.waiting, 0, 1)
	}
}

func (r *replica) give(l *Place) {
	l.replica, l.life = r, r.life
	r.places[l] = true
	close(l.ready)
}

// leastLoaded is the replica with the fewest requests, the first of those; nil
// if all are full, dead or at rest. Pool.mu is held.
func (p *Pool) leastLoaded() *replica {
	var least *replica
	for _, r := range p.replicas {
		if !r.alive || len(r.places) >= p.settings.Window || !r.rested.IsZero() && p.settings.Clock.Now().Before(r.rested) {
			continue
		}
		if least == nil || len(r.places) < len(least.places) {
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

// Waits of a replica that takes no more requests for now and does not say how
// long: they double from the first.
const (
	firstRest = time.Second
	lastRest  = time.Minute
)

// rest gives a replica no request for as long as it wants, and reports the first time.
func (p *Pool) rest(r *replica, e *vllm.Error) {
	p.mu.Lock()
	now := p.settings.Clock.Now()
	wait := cmp.Or(e.Later, min(firstRest<<min(r.rests, 10), lastRest))
	if longer := now.Add(wait).After(r.rested); longer && !p.closed {
		if !r.rested.After(now) {
			r.rests++
		}
		r.rested = now.Add(wait)
		p.tasks.Go(func() {
			if p.settings.Clock.Sleep(p.ctx, wait) == nil {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.dispatch()
			}
		})
	}
	said := r.slow
	r.slow = true
	p.mu.Unlock()
	if !said {
		p.settings.Report(fmt.Sprintf("replica %s takes no more requests for now (the next in %v), and waits are not reported again: %v",
			r.Name, wait.Round(time.Millisecond), e))
	}
}
