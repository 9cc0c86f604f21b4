package pool

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"speceval/internal/servers/vllm"
)

// sender sends a request to one server. What comes in is heard in pieces, or not.
type sender func(ctx context.Context, c *vllm.Client, r vllm.Request, hear func(vllm.Piece)) (vllm.Completion, error)

// request sends a request until it is answered, fails for good, or has been
// tried as often as allowed.
func (p *Pool) request(ctx context.Context, r vllm.Request, a answer, send sender) (completion vllm.Completion, name string, err error) {
	j := job{pool: p, request: &r, answer: a, send: send, arrival: p.arrive()}
	retry := vllm.Retry{
		Attempts: p.settings.Attempts, Clock: patience{p.settings.Clock, p.waits}, Seed: r.Seed,
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
			j.pool.answered(r, completion.Mended)
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
func (j *job) lost(ctx context.Context, l *Place, err error) bool {
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

// Waits of a replica that takes no more requests for now and does not say how
// long: they double from the first.
const (
	firstRest = time.Second
	lastRest  = time.Minute
)

// putOff tells whether a server takes no more requests for now, and lets it
// rest, while the request waits for its turn again. One that has been put off
// for longer than Settings.Outage fails like any other.
func (j *job) putOff(l *Place, err error) bool {
	var e *vllm.Error
	if !errors.As(err, &e) || !e.Limited() {
		return false
	}
	until := j.pool.rest(l.replica, e.Later)
	j.pool.sayOnce(l.replica, until, e)
	if j.limited.IsZero() {
		j.limited = j.pool.settings.Clock.Now()
	}
	return until.Sub(j.limited) <= j.pool.settings.Outage
}

// rest gives a replica no request for as long as it wants, 0 if it does not say,
// and tells until when.
func (p *Pool) rest(r *replica, wants time.Duration) (until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.settings.Clock.Now()
	wait := wants
	if wait == 0 {
		wait = min(firstRest<<min(r.rests, 10), lastRest)
	}
	until = now.Add(wait)
	if !until.After(r.rested) || p.closed {
		return r.rested
	}
	if !r.rested.After(now) {
		r.rests++
	}
	r.rested = until
	p.tasks.Go(func() {
		if p.settings.Clock.Sleep(p.ctx, wait) == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.dispatch()
		}
	})
	return until
}

// sayOnce reports that a replica is slow for the first time.
func (p *Pool) sayOnce(r *replica, until time.Time, e *vllm.Error) {
	p.mu.Lock()
	said := r.slow
	r.slow = true
	p.mu.Unlock()
	if !said {
		p.settings.Report(fmt.Sprintf("replica %s takes no more requests for now (the next in %v), and waits are not reported again: %v",
			r.Name, until.Sub(p.settings.Clock.Now()).Round(time.Millisecond), e))
	}
}

// watch polls the metrics of a replica that has requests, and takes it out when it
// makes no token of them, or does not answer. /health does not show that. A replica
// that refuses connections is out at once: a vLLM that is shutting down may keep
// the connections of requests that it will not answer.
func (p *Pool) watch(r *replica) {
	var s stillness
	for p.settings.Clock.Sleep(p.ctx, p.settings.Poll) == nil {
		p.mu.Lock()
		busy, life := r.alive && len(r.places) > 0, r.life
		p.mu.Unlock()
		if !busy {
			s = stillness{}
			continue
		}
		m, err := r.Client.Metrics(p.ctx)
		if errors.Is(err, syscall.ECONNREFUSED) {
			p.takeOut(r, life, err, nil)
			continue
		}
		now := p.settings.Clock.Now()
		if s.update(now, m, err); now.Sub(s.since) < p.settings.Hang {
			continue
		}
		if err == nil {
			err = fmt.Errorf("hangs: %d requests running, %d waiting, and no token for %v", m.Running, m.Waiting, now.Sub(s.since))
		}
		stuck := s.last
		p.takeOut(r, life, err, &stuck)
		s = stillness{}
	}
}

// stillness records since when a replica has made no token.
type stillness struct {
	since time.Time // zero: never polled
	last  vllm.Metrics
}

// update records the metrics of a replica at a time. A replica that has nothing to
// do, or no metrics of vLLM at all, counts as moving.
func (s *stillness) update(now time.Time, m vllm.Metrics, err error) {
	moved := s.since.IsZero() || errors.Is(err, vllm.ErrNotOffered) ||
		err == nil && (tokens(m) != tokens(s.last) || m.Running+m.Waiting == 0)
	if moved {
		s.since = now
	}
	if err == nil {
		s.last = m
	}
}

func tokens(m vllm.Metrics) float64 { return m.GenerationTokens + m.PromptTokens }
