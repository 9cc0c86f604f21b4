package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"speceval/internal/servers/vllm"
)

// answer is the answer of a job, through all its tries.
type answer struct {
	seen    func(vllm.Piece) // may be nil
	streams bool             // it is asked for in pieces
	anew    bool             // it has begun anew, and the caller has no piece that says so

	continued, again int           // as in vllm.Completion
	worked           time.Duration // by servers on the part that is resumed
	first            time.Time     // when its first token came; zero: not yet
}

// hear passes a piece on.
func (a *answer) hear(p vllm.Piece) {
	if a.anew {
		p.Anew, a.anew = true, false
		a.again++
	}
	if a.seen != nil {
		a.seen(p)
	}
}

// whole notes in a completion what it took.
func (a *answer) whole(c *vllm.Completion, err error) {
	if a.anew && err == nil { // in no piece
		a.again++
	}
	c.Continued, c.Again = a.continued, a.again
	c.Sent = c.Sent.Add(-a.worked)
	if !a.first.IsZero() {
		c.First = a.first
	}
}

// proceed decides how a request is made again that has failed: from what was seen of
// its answer, or from nothing. Its error forbids that.
func (j *job) proceed(ctx context.Context, r *replica, c *vllm.Completion, err error) error {
	var e *vllm.Error
	if ctx.Err() != nil || errors.As(err, &e) && e.Kind.Permanent() && e.Kind != vllm.NotContinued {
		return nil // it is not made again
	}
	had := 0
	if j.request.Prefix != nil {
		had = len(j.request.Prefix.IDs)
	}
	prefix := c.Prefix()
	switch {
	case had > 0 && refuses(prefix, had, err):
	case prefix != nil && j.request.OnLoss != vllm.AskAgain:
		if len(prefix.IDs) > had {
			j.answer.continued++
		}
		j.request.Prefix = prefix
		j.answer.worked += c.Finished.Sub(c.Sent)
		j.answer.first = cmp.Or(j.answer.first, c.First)
		return nil
	case !j.threw(r, c, err):
		return nil
	}
	if j.request.OnLoss == vllm.Refuse {
		return fmt.Errorf("%s: %w: %v", j.name(), vllm.ErrLost, err)
	}
	j.request.Prefix, j.answer.anew = nil, true
	j.answer.worked, j.answer.first = 0, time.Time{}
	return nil
}

// refuses tells whether the server does not go on with an answer of which there were
// so many tokens.
func refuses(now *vllm.Prefix, had int, err error) bool {
	var e *vllm.Error
	return notContinued(err) || errors.As(err, &e) && e.Kind == vllm.Garbage && (now == nil || len(now.IDs) <= had)
}

func notContinued(err error) bool {
	var e *vllm.Error
	return errors.As(err, &e) && e.Kind == vllm.NotContinued
}

// threw tells whether something may have been seen of an answer that is thrown away
// when it begins anew: a text, or that it had not come after a while.
func (j *job) threw(r *replica, c *vllm.Completion, err error) bool {
	if c.Text != "" || c.Reasoning != "" || len(c.TokenIDs) > 0 {
		return true
	}
	if j.answer.streams && !r.Client.Plain() {
		return false // it would have told its first token
	}
	var e *vllm.Error
	return !errors.As(err, &e) || e.Worked()
}

// Waits between two polls of a replica that is out: they double from the first.
const (
	firstPoll = 500 * time.Millisecond
	lastPoll  = 30 * time.Second
)

// takeOut excludes a replica that failed in a certain life, and starts its
// recovery. stuck holds its metrics when it hung; nil if it is dead instead.
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

// SayAfter is how long a wait for servers is silent.
const SayAfter = 3 * time.Second

// Waiting is what is said of a wait for servers.
func Waiting(left time.Duration) string {
	return fmt.Sprintf("no server answers; waiting up to %v more (serving.outage_seconds)", left.Round(time.Second))
}

// waitOutage turns requests away if no replica comes back in time.
func (p *Pool) waitOutage(ctx context.Context) {
	silent := min(SayAfter, p.settings.Outage)
	if p.settings.Clock.Sleep(ctx, silent) != nil {
		return
	}
	if left := p.settings.Outage - silent; left > 0 {
		p.settings.Report(Waiting(left))
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

// revive polls a replica that is out until it is well again.
func (p *Pool) revive(r *replica, stuck *vllm.Metrics) {
	wait := firstPoll
	said := ""
	for poll := 0; p.ctx.Err() == nil; poll++ {
		if r.Restart != nil && (poll > 0 || stuck != nil) {
			p.settings.Report(fmt.Sprintf("replica %s: starting it again", r.Name))
			if err := r.Restart(p.ctx); err != nil {
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
		wait = min(2*wait, lastPoll)
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
		served, err := p.settings.probe(ctx, r.Client, *requirement)
		if err == nil && found != nil && found.Plain != served.Plain {
			err = fmt.Errorf("%s: was %s and is %s now: start the server that was there", served.URL, found.Software, served.Software)
		}
		return err
	}
	if err := r.Client.Health(ctx); err != nil {
		return err
	}
	models, err := r.Client.Models(ctx)
	if err != nil {
		return err
	}
	if model != "" && !slices.ContainsFunc(models, func(m vllm.Model) bool { return m.ID == model || r.Client.Plain() && vllm.Serves(model, m.ID) }) {
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
	ctx, cancel := p.settings.within(ctx, p.settings.Hang)
	defer cancel()
	_, err = r.Client.Complete(ctx, vllm.Request{
		Model: model, Messages: []vllm.Message{{Role: "user", Content: "Hello"}}, TopP: 1, MaxTokens: 1,
	})
	if err != nil {
		return fmt.Errorf("a request of one token: %w", err)
	}
	return nil
}

// How long Reset waits for a replica to drain, and between two polls.
const (
	drainWithin = 300 * time.Second
	drainLook   = 200 * time.Millisecond
)

// Reset makes the replicas alike before another use: no request is outstanding,
// here or by their own metrics, their prefix caches are empty where they can be
// emptied, and they are healthy. It refuses while requests are outstanding or a
// replica is out. Requests that arrive meanwhile wait.
func (p *Pool) Reset(ctx context.Context) error {
	if err := p.hold(); err != nil {
		return err
	}
	defer p.letGo()
	faults := make([]error, len(p.replicas))
	var all sync.WaitGroup
	for i, r := range p.replicas {
		all.Go(func() { faults[i] = p.clear(ctx, r.Client) })
	}
	all.Wait()
	return errors.Join(faults...)
}

func (p *Pool) hold() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	outstanding := len(p.waiting)
	for _, r := range p.replicas {
		outstanding += len(r.places)
	}
	switch {
	case p.closed:
		return ErrClosed
	case p.held:
		return errors.New("reset of the replicas: another is at work")
	case outstanding > 0:
		return fmt.Errorf("reset of the replicas: %d requests are outstanding", outstanding)
	case p.alive < len(p.replicas):
		return fmt.Errorf("reset of the replicas: %d of %d are out", len(p.replicas)-p.alive, len(p.replicas))
	}
	p.held = true
	return nil
}

func (p *Pool) letGo() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
	p.dispatch()
}

// clear waits until a replica has nothing to do, and empties its prefix cache.
func (p *Pool) clear(ctx context.Context, c *vllm.Client) error {
	started := p.settings.Clock.Now()
	for {
		m, err := c.Metrics(ctx)
		if errors.Is(err, vllm.ErrNotOffered) || err == nil && m.Running+m.Waiting == 0 {
			break
		}
		if err != nil {
			return err
		}
		if p.settings.Clock.Now().Sub(started) > drainWithin {
			return fmt.Errorf("%s: %d requests run and %d wait after %v: is someone else using it?", c.URL(), m.Running, m.Waiting, drainWithin)
		}
		if err := p.settings.Clock.Sleep(ctx, drainLook); err != nil {
			return err
		}
	}
	if err := c.ResetPrefixCache(ctx); err != nil && !errors.Is(err, vllm.ErrNotOffered) {
		return err
	}
	return c.Health(ctx)
}
