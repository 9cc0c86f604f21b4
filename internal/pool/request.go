package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"speceval/internal/vllm"
)

// sender sends a request to one server. What comes in is heard in pieces, or not.
type sender func(ctx context.Context, c *vllm.Client, r vllm.Request, hear func(vllm.Piece)) (vllm.Completion, error)

// request sends a request until it is answered, fails for good, or has been
// tried as often as allowed.
func (p *Pool) request(ctx context.Context, r vllm.Request, a answer, send sender) (completion vllm.Completion, name string, err error) {
	j := job{pool: p, request: &r, answer: a, send: send, arrival: p.arrive()}
	retry := vllm.Retry{
		Attempts: p.settings.Attempts, Clock: p.settings.Clock, Seed: r.Seed,
		Report: func(attempt int, err error, wait time.Duration) {
			p.sentAgain()
			if attempt == 1 {
				return // one failure is nothing to speak of: see Resent
			}
			p.settings.Report(fmt.Sprintf("%s failed, attempt %d of %d, again in %v: %v",
				j.name(), attempt, p.settings.Attempts, wait.Round(time.Millisecond), err))
		},
	}
	err = retry.Do(ctx, func(ctx context.Context) error {
		var err error
		completion, name, err = j.attempt(ctx)
		return err
	})
	j.answer.whole(&completion, err)
	return completion, name, err
}

// job is a request on its way through the pool.
type job struct {
	pool    *Pool
	request *vllm.Request // with what has been seen of its answer
	answer  answer
	send    sender
	arrival uint64
	deaths  int       // of replicas that worked on it
	limited time.Time // when a replica first put it off; zero: never
}

// attempt sends the request once, and again after each death of its replica.
func (j *job) attempt(ctx context.Context) (vllm.Completion, string, error) {
	for {
		l, err := j.pool.acquire(ctx, j)
		if err != nil {
			return vllm.Completion{}, "", err
		}
		r := l.replica
		completion, err := j.send(l.ctx, r.Client, *j.request, j.answer.hear)
		if err == nil {
			j.pool.answered(r)
			j.pool.release(l)
			return completion, r.Name, nil
		}
		lost := j.lost(ctx, l, err) || j.putOff(l, err)
		closed := errors.Is(context.Cause(l.ctx), ErrClosed)
		j.pool.release(l)
		forbidden := j.proceed(ctx, r, &completion, err)
		switch {
		case ctx.Err() != nil:
			return completion, r.Name, err
		case closed:
			return completion, r.Name, ErrClosed
		case forbidden != nil:
			return completion, r.Name, forbidden
		case !lost && !notContinued(err):
			return completion, r.Name, err
		case j.deaths >= j.pool.settings.Deaths:
			return completion, r.Name, fmt.Errorf("%s: %w: %d died, the last with: %v", j.name(), ErrDeadly, j.deaths, err)
		}
		j.pool.sentAgain()
	}
}

// lost tells whether a request failed because its replica died or hangs, by its
// metrics or by its silence, takes that replica out, and counts the death, unless the request never got there.
func (j *job) lost(ctx context.Context, l *lease, err error) bool {
	if errors.Is(context.Cause(l.ctx), errTakenOut) {
		j.deaths++
		return true
	}
	var e *vllm.Error
	if ctx.Err() != nil || !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case vllm.Unreachable, vllm.EngineDead, vllm.Idle:
	case vllm.Cut:
		if l.replica.Client.Health(l.ctx) == nil {
			return false
		}
	default:
		return false
	}
	if ctx.Err() != nil {
		return false
	}
	j.pool.takeOut(l.replica, l.life, err, nil)
	if !e.Unsent {
		j.deaths++
	}
	return true
}

// name says which request it is.
func (j *job) name() string {
	if j.request.ID != "" {
		return "request " + j.request.ID
	}
	return fmt.Sprintf("request with seed %d", j.request.Seed)
}

func (p *Pool) arrive() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arrivals++
	return p.arrivals
}

func (p *Pool) sentAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resent++
}
