package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"speceval/internal/servers/vllm"
)

// ErrFull: no replica that is alive has a free place now.
var ErrFull = errors.New("no replica has a free place")

// Place is room for one request at one replica. Requests of Complete and Stream wait for one.
// Take takes one at once, in the order in which its callers ask, for those who time requests:
// what is sent there is sent once.
type Place struct {
	pool    *Pool
	arrival uint64 // in the queue
	model   string
	ctx     context.Context // of the request
	cancel  context.CancelCauseFunc
	once    sync.Once

	ready   chan struct{} // closed when one of the following is set
	err     error         // there will be no place
	replica *replica
	life    int // of the replica
}

// Take takes a place at the replica with the fewest requests, the first of
// those, without waiting; the error is ErrFull if there is none. ctx is that of
// the request: its end aborts it. The place must be released.
func (p *Pool) Take(ctx context.Context) (*Place, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, ErrClosed
	case p.outage != nil:
		return nil, p.outage
	case p.held:
		return nil, errors.New("the replicas are being reset")
	}
	r := p.leastLoaded()
	if r == nil {
		return nil, ErrFull
	}
	l := &Place{pool: p, replica: r, life: r.life}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	r.places[l] = true
	return l, nil
}

// Replica is the number of the replica in the pool, from 0.
func (l *Place) Replica() int { return l.replica.index }

// Stream sends the one request of this place. With an error, the Completion
// holds what was received before it. A replica that died of the request or before
// is taken out of the pool, as with Pool.Stream.
func (l *Place) Stream(r vllm.Request, seen func(vllm.Piece)) (vllm.Completion, error) {
	replica := l.replica
	l.pool.mu.Lock()
	replica.model = r.Model
	l.pool.mu.Unlock()
	completion, err := replica.Client.Stream(l.ctx, r, seen)
	if err == nil {
		l.pool.answered(replica, completion.Mended)
		return completion, nil
	}
	cause := context.Cause(l.ctx)
	switch {
	case errors.Is(cause, errTakenOut):
		return completion, fmt.Errorf("replica %s was taken out: %w", replica.Name, l.pool.fault(replica))
	case errors.Is(cause, ErrClosed):
		return completion, ErrClosed
	}
	j := job{pool: l.pool, request: &r}
	j.putOff(l, err)
	if j.lost(l.ctx, l, err) {
		err = fmt.Errorf("replica %s is lost: %w", replica.Name, err)
	}
	return completion, err
}

// Release gives the place back. Further calls do nothing.
func (l *Place) Release() { l.once.Do(func() { l.pool.release(l) }) }

// fault says why a replica is out.
func (p *Pool) fault(r *replica) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.fault == nil {
		return errTakenOut
	}
	return r.fault
}
