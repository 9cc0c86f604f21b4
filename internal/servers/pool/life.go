package pool

import (
	"context"
	"fmt"
	"strings"
	"time"

	"speceval/internal/servers/vllm"
)

// Waits between two probes of a replica that is out: they double from the first.
const (
	firstPoll = 500 * time.Millisecond
	lastPoll  = 30 * time.Second
)

// takeOut excludes a replica that failed in a certain life, and starts its recovery.
func (p *Pool) takeOut(r *replica, life int, fault error) {
	p.mu.Lock()
	if !r.alive || r.life != life || p.closed {
		p.mu.Unlock()
		return
	}
	r.alive, r.fault = false, fault
	p.alive--
	p.lost = append(p.lost, r.Name)
	left := p.alive
	if left == 0 {
		var ctx context.Context
		ctx, p.endOutage = context.WithCancel(p.ctx)
		p.tasks.Go(func() { p.waitOutage(ctx) })
	}
	p.tasks.Go(func() { p.revive(r, vllm.KindOf(fault) == vllm.Idle) })
	p.mu.Unlock()
	p.settings.Report(fmt.Sprintf("replica %s is out, %d of %d left: %v", r.Name, left, len(p.replicas), fault))
}

// sayAfter is how long a wait for servers is silent.
const sayAfter = 3 * time.Second

// waitingText is the message about a wait for servers.
func waitingText(left time.Duration) string {
	return fmt.Sprintf("no server answers; waiting up to %v more (serving.outage_seconds)", left.Round(time.Second))
}

// waitOutage turns requests away if no replica comes back in time.
func (p *Pool) waitOutage(ctx context.Context) {
	silent := min(sayAfter, p.settings.Outage)
	if p.settings.Clock.Sleep(ctx, silent) != nil {
		return
	}
	if left := p.settings.Outage - silent; left > 0 {
		p.settings.Report(waitingText(left))
		if p.settings.Clock.Sleep(ctx, left) != nil {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil { // one came back just now
		return
	}
	var faults []string
	for _, r := range p.replicas {
		faults = append(faults, fmt.Sprintf("%s: %v", r.Name, r.fault))
	}
	p.outage = fmt.Errorf("%w for %v: start them again (%s)", ErrOutage, p.settings.Outage, strings.Join(faults, "; "))
	p.refuse(p.outage)
}

// revive probes a replica that is out until it is well again, and takes it back. One that
// can be started again is, if it hung or is not back by itself.
func (p *Pool) revive(r *replica, restart bool) {
	said := ""
	for wait := firstPoll; p.ctx.Err() == nil; wait = min(2*wait, lastPoll) {
		if r.Restart != nil && restart {
			p.settings.Report(fmt.Sprintf("replica %s: starting it again", r.Name))
			if err := r.Restart(p.ctx); err != nil {
				p.settings.Report(fmt.Sprintf("replica %s: not started again: %v", r.Name, err))
			}
		}
		restart = true
		err := p.well(p.ctx, r)
		if err == nil {
			p.mu.Lock()
			r.alive, r.fault, p.outage = true, nil, nil
			r.life++
			p.alive++
			alive := p.alive
			if p.endOutage != nil {
				p.endOutage()
				p.endOutage = nil
			}
			p.dispatch()
			p.mu.Unlock()
			p.settings.Report(fmt.Sprintf("replica %s is back, %d of %d alive", r.Name, alive, len(p.replicas)))
			return
		}
		if text := err.Error(); text != said && p.ctx.Err() == nil {
			p.settings.Report(fmt.Sprintf("replica %s stays out: %v", r.Name, err))
			said = text
		}
		p.mu.Lock()
		r.fault = err
		r.revoke(&loss{r.Name, err, false}) // what it still holds will not be answered
		p.mu.Unlock()
		if p.settings.Clock.Sleep(p.ctx, wait) != nil {
			return
		}
	}
}

// well says why a replica is not fit for requests; nil if it is: it meets the requirement, is the
// kind of server that it was, and answers a request of one token, which one that hangs does not.
func (p *Pool) well(ctx context.Context, r *replica) error {
	served, err := p.probe(ctx, r.Client)
	switch {
	case err != nil:
		return err
	case r.found != nil && r.found.Plain != served.Plain:
		return fmt.Errorf("%s: was %s and is %s now: start the server that was there", served.URL, r.found.Software, served.Software)
	case served.Plain: // it was asked already
		return nil
	}
	q := p.requirement.question("Hello", 1)
	q.TokenIDs = false
	if _, err = r.Client.Stream(ctx, q, nil); err != nil {
		return fmt.Errorf("a request of one token: %w", err)
	}
	return nil
}
