package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"speceval/internal/clock"
	"speceval/internal/pool"
	"speceval/internal/vllm"
)

// guard finds out whether a run's times mean anything, by what the replicas say
// of themselves.
//
// It sees a replica that is gone or was started again, one with more requests
// than ours, and one that has made more tokens than ours. It does not see what
// else runs on a replica's machine, requests so short that they are there at no
// look, or so few tokens that they may be the last ones of requests that we
// aborted: see unseenTokens.
type guard struct {
	pool    *pool.Pool
	resent  int // of the pool when the run began
	lost    int
	tallies []*tally
}

// A replica makes some tokens of a request after the last that we see of it
// before we leave: those of its next chunk, and those until it notices. Of
// requests that complete it counts none that we do not. (Two replicas of vLLM
// 0.23.0 made no token more in 2304 rollouts, and 28 more in 29 that were
// aborted at once, on processors that were busy eight times over.)
const (
	unseenTokens = 256 // of a request that was aborted, or that runs, at most
	spareTokens  = 64  // of a replica's count that was late when the run began
)

// patience is how many looks in a row must find the same fault: one may fall
// into a moment when the replica is behind.
const patience = 2

// errRestarted is a fault that one look shows.
var errRestarted = errors.New("was started again")

// tally is what we know of one replica during a run.
type tally struct {
	name   string
	tokens atomic.Int64 // of our requests, as seen so far

	mu          sync.Mutex
	outstanding int
	left        int // ended since the last look: the replica may still have them
	broken      int // ended before their last token

	before   float64 // the replica's count of tokens at the last look
	baseline float64 // and when the run began
	faults   int     // looks in a row that found fault
}

// newGuard takes the replicas' counts before a run.
func newGuard(ctx context.Context, p *pool.Pool) (*guard, error) {
	g := &guard{pool: p, resent: p.Resent(), lost: len(p.Lost())}
	for i, name := range p.Replicas() {
		m, err := p.Metrics(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("metrics of replica %s, to tell whether a run is void: %w", name, err)
		}
		g.tallies = append(g.tallies, &tally{name: name, baseline: m.GenerationTokens, before: m.GenerationTokens})
	}
	return g, nil
}

func (t *tally) submitted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outstanding++
}

func (t *tally) ended(broken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outstanding--
	t.left++
	if broken {
		t.broken++
	}
}

// compare is what is wrong with a replica by its metrics; nil if nothing is.
// What is ours is taken after the metrics were asked for, so that it is not
// less than it was then.
func (t *tally) compare(m vllm.Metrics) error {
	t.mu.Lock()
	ours := t.outstanding + t.left
	unseen := t.outstanding + t.broken
	t.left = 0
	t.mu.Unlock()
	if m.GenerationTokens < t.before {
		return fmt.Errorf("replica %s %w: its count of tokens fell from %.0f to %.0f", t.name, errRestarted, t.before, m.GenerationTokens)
	}
	t.before = m.GenerationTokens
	if has := m.Running + m.Waiting; has > ours {
		return fmt.Errorf("replica %s has %d requests, %d of them ours: somebody else uses it", t.name, has, ours)
	}
	made, seen := m.GenerationTokens-t.baseline, t.tokens.Load()
	if made > float64(seen+int64(unseen)*unseenTokens+spareTokens) {
		return fmt.Errorf("replica %s has made %.0f tokens, %d of them ours: somebody else uses it", t.name, made, seen)
	}
	return nil
}

// look is the fault that the last looks at a replica found alike.
func (g *guard) look(ctx context.Context, replica int) error {
	t := g.tallies[replica]
	m, err := g.pool.Metrics(ctx, replica)
	switch {
	case err != nil:
		err = fmt.Errorf("replica %s does not tell its metrics: %w", t.name, err)
	default:
		err = t.compare(m)
	}
	if err == nil {
		t.faults = 0
		return nil
	}
	if t.faults++; t.faults >= patience || errors.Is(err, errRestarted) {
		return err
	}
	return nil
}

// pooled is what the pool knows to be wrong.
func (g *guard) pooled() error {
	lost := g.pool.Lost()[g.lost:]
	switch {
	case len(lost) > 0:
		return fmt.Errorf("replica %s was lost", strings.Join(lost, ", "))
	case g.pool.Resent() > g.resent:
		return errors.New("requests were sent again")
	}
	return nil
}

// The end of a run: replicas have nothing left to do soon after the last
// request.
const (
	settleWithin = 30 * time.Second
	settleLook   = 20 * time.Millisecond
)

// settle waits until the replicas have nothing left to do, and looks at them
// for the last time.
func (g *guard) settle(ctx context.Context, c clock.Clock) error {
	faults := make([]error, len(g.tallies)+1)
	var all sync.WaitGroup
	for i := range g.tallies {
		all.Go(func() { faults[i] = g.drain(ctx, c, i) })
	}
	all.Wait()
	faults[len(g.tallies)] = g.pooled()
	return errors.Join(faults...)
}

// drain waits until one replica has nothing left to do.
func (g *guard) drain(ctx context.Context, c clock.Clock, replica int) error {
	t, failed := g.tallies[replica], 0
	for waited := time.Duration(0); ; waited += settleLook {
		m, err := g.pool.Metrics(ctx, replica)
		if err != nil {
			if failed++; failed >= patience {
				return fmt.Errorf("replica %s does not tell its metrics: %w", t.name, err)
			}
		} else if m.Running+m.Waiting == 0 {
			return t.compare(m)
		}
		if waited >= settleWithin {
			return fmt.Errorf("replica %s has %d requests, %v after the last of ours: somebody else uses it", t.name, m.Running+m.Waiting, settleWithin)
		}
		if err := c.Sleep(ctx, settleLook); err != nil {
			return err
		}
	}
}

// watch looks at the replicas until the run ends, and whether Next waits too
// long.
func (e *Engine) watch() {
	for e.settings.Clock.Sleep(e.ctx, e.settings.Look) == nil {
		faults := make([]error, len(e.guard.tallies)+1)
		var all sync.WaitGroup
		for i := range e.guard.tallies {
			all.Go(func() { faults[i] = e.guard.look(e.ctx, i) })
		}
		all.Wait()
		if e.ctx.Err() != nil {
			return
		}
		faults[len(faults)-1] = e.guard.pooled()
		if err := errors.Join(faults...); err != nil {
			e.void(err)
			return
		}
		since := time.Duration(e.waiting.Load())
		if waited := e.since(e.settings.Clock.Now()) - since; since > 0 && waited > e.settings.Silence {
			e.void(fmt.Errorf("no event for %v", waited.Round(time.Second)))
			return
		}
	}
}
