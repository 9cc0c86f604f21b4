package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// errTakenOut is the cause for which the requests of a replica are aborted.
var errTakenOut = errors.New("the replica is taken out")

// lease is a request's place: in the queue first, then at a replica.
type lease struct {
	arrival uint64
	model   string
	ctx     context.Context // of the request
	cancel  context.CancelCauseFunc

	ready   chan struct{} // closed when one of the following is set
	err     error         // there will be no place
	replica *replica
	life    int // of the replica
}

// acquire waits for a place at a replica, in order of arrival.
func (p *Pool) acquire(ctx context.Context, j *job) (*lease, error) {
	l := &lease{arrival: j.arrival, model: j.request.Model, ready: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	p.mu.Lock()
	switch {
	case p.closed:
		l.err = ErrClosed
	case p.outage != nil:
		l.err = p.outage
	default:
		at, _ := slices.BinarySearchFunc(p.waiting, l, func(a, b *lease) int { return cmp.Compare(a.arrival, b.arrival) })
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
func (p *Pool) release(l *lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.cancel(nil)
	if l.replica == nil {
		p.waiting = slices.DeleteFunc(p.waiting, func(w *lease) bool { return w == l })
		return
	}
	delete(l.replica.leases, l)
	p.dispatch()
}

// answered notes that a replica has served a request.
func (p *Pool) answered(r *replica) {
	p.mu.Lock()
	defer p.mu.Unlock()
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
		r.leases[l] = true
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
		if r.alive && len(r.leases) < p.settings.Window && (least == nil || len(r.leases) < len(least.leases)) {
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
	for l := range r.leases {
		l.cancel(cause)
	}
}
