package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"speceval/internal/vllm"
)

// How long Reset waits for a replica to drain, and between two looks.
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
		outstanding += len(r.leases)
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
