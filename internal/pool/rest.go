package pool

import (
	"errors"
	"fmt"
	"time"

	"speceval/internal/vllm"
)

// Waits of a replica that takes no more requests for now and does not say how
// long: they double from the first.
const (
	firstRest = time.Second
	lastRest  = time.Minute
)

// putOff tells whether a server takes no more requests for now, and lets it
// rest, while the request waits for its turn again. One that has been put off
// for longer than Settings.Outage fails like any other.
func (j *job) putOff(l *lease, err error) bool {
	var e *vllm.Error
	if !errors.As(err, &e) || !e.Limited() {
		return false
	}
	until := j.pool.rest(l.replica, e.Later)
	j.pool.sayOnce(l.replica, e)
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
func (p *Pool) sayOnce(r *replica, e *vllm.Error) {
	p.mu.Lock()
	said := r.slow
	r.slow = true
	p.mu.Unlock()
	if !said {
		p.settings.Report(fmt.Sprintf("replica %s takes no more requests for now, and waits are not reported again: %v", r.Name, e))
	}
}
