package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"speceval/internal/vllm"
)

// Waits between two looks at a replica that is out: they double from the first.
const (
	firstLook = 500 * time.Millisecond
	lastLook  = 30 * time.Second
)

// takeOut puts a replica aside that failed in a certain life, and sees to it
// that it comes back. stuck is what it said of itself when it hung; nil if it
// is dead instead.
func (p *Pool) takeOut(r *replica, life int, fault error, stuck *vllm.Metrics) {
	p.mu.Lock()
	if !r.alive || r.life != life || p.closed {
		p.mu.Unlock()
		return
	}
	r.alive, r.fault = false, fault
	p.alive--
	p.lost = append(p.lost, r.Name)
	left := p.alive
	if stuck != nil {
		r.revoke(errTakenOut)
	}
	if left == 0 {
		var ctx context.Context
		ctx, p.endOutage = context.WithCancel(p.ctx)
		p.tasks.Go(func() { p.waitOutage(ctx) })
	}
	p.tasks.Go(func() { p.revive(r, stuck) })
	p.mu.Unlock()
	p.settings.Report(fmt.Sprintf("replica %s is out, %d of %d left: %v", r.Name, left, len(p.replicas), fault))
}

// waitOutage turns requests away if no replica comes back in time.
func (p *Pool) waitOutage(ctx context.Context) {
	if p.settings.Clock.Sleep(ctx, p.settings.Outage) != nil {
		return
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

// revive looks at a replica that is out until it is well again.
func (p *Pool) revive(r *replica, stuck *vllm.Metrics) {
	wait := firstLook
	said := ""
	for look := 0; p.ctx.Err() == nil; look++ {
		if p.settings.Restart != nil && (look > 0 || stuck != nil) {
			p.settings.Report(fmt.Sprintf("replica %s: starting it again", r.Name))
			if err := p.settings.Restart(p.ctx, r.index); err != nil {
				p.settings.Report(fmt.Sprintf("replica %s: not started again: %v", r.Name, err))
			} else {
				stuck = nil
			}
		}
		err := p.well(p.ctx, r, stuck)
		if err == nil {
			p.takeBack(r)
			return
		}
		if text := err.Error(); text != said && p.ctx.Err() == nil {
			p.settings.Report(fmt.Sprintf("replica %s stays out: %v", r.Name, err))
			said = text
		}
		p.mu.Lock()
		r.fault = err
		r.revoke(errTakenOut) // what it still holds will not be answered
		p.mu.Unlock()
		if p.settings.Clock.Sleep(p.ctx, wait) != nil {
			return
		}
		wait = min(2*wait, lastLook)
	}
}

func (p *Pool) takeBack(r *replica) {
	p.mu.Lock()
	r.alive, r.fault = true, nil
	r.life++
	p.alive++
	alive := p.alive
	p.outage = nil
	if p.endOutage != nil {
		p.endOutage()
		p.endOutage = nil
	}
	p.dispatch()
	p.mu.Unlock()
	p.settings.Report(fmt.Sprintf("replica %s is back, %d of %d alive", r.Name, alive, len(p.replicas)))
}

// well says why a replica is not fit for requests; nil if it is.
func (p *Pool) well(ctx context.Context, r *replica, stuck *vllm.Metrics) error {
	p.mu.Lock()
	requirement, model, found := p.requirement, r.model, r.found
	p.mu.Unlock()
	if stuck != nil {
		if err := p.moves(ctx, r, model, stuck); err != nil {
			return err
		}
	}
	if requirement != nil {
		served, faults := p.meets(ctx, r, *requirement)
		if len(faults) == 0 && found != nil && found.Plain != served.Plain {
			return fmt.Errorf("%s: was %s and is %s now: start the server that was there", served.URL, found.Software, served.Software)
		}
		return errors.Join(faults...)
	}
	if err := r.Client.Health(ctx); err != nil {
		return err
	}
	models, err := r.Client.Models(ctx)
	if err != nil {
		return err
	}
	if model != "" && !slices.ContainsFunc(models, func(m vllm.Model) bool { return m.ID == model || r.Client.Plain() && vllm.SameModel(model, m.ID) }) {
		return fmt.Errorf("%s: no longer serves %s", r.Client.URL(), model)
	}
	return nil
}

// moves tells whether a replica that hung makes tokens again, of what it had or
// of a request of one token.
func (p *Pool) moves(ctx context.Context, r *replica, model string, stuck *vllm.Metrics) error {
	m, err := r.Client.Metrics(ctx)
	if err != nil {
		return err
	}
	if tokens(m) != tokens(*stuck) {
		return nil
	}
	if m.Running > 0 {
		return fmt.Errorf("%s: still hangs with %d requests running: restart it", r.Client.URL(), m.Running)
	}
	ctx, cancel := p.within(ctx, p.settings.Hang)
	defer cancel()
	_, err = r.Client.Complete(ctx, vllm.Request{
		Model: model, Messages: []vllm.Message{{Role: "user", Content: "Hello"}}, TopP: 1, MaxTokens: 1,
	})
	if err != nil {
		return fmt.Errorf("a request of one token: %w", err)
	}
	return nil
}

// within limits a context by the pool's clock.
func (p *Pool) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		if p.settings.Clock.Sleep(ctx, limit) == nil {
			cancel()
		}
	}()
	return ctx, cancel
}
