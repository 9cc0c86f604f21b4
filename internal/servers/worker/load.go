package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"speceval/internal/clock"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
)

// load counts requests and tokens of one replica during a run, and compares them with
// the replica's metrics. It does not find other load on a replica's machine, requests so
// short that no poll meets them, or so few tokens that they may be the last ones of requests
// that we aborted.
type load struct {
	pool.Replica
	tokens      atomic.Int64 // of our requests, as seen so far
	outstanding atomic.Int64
	left        atomic.Int64 // ended since the last poll: the replica may still have them
	broken      atomic.Int64 // ended before their last token

	before   float64 // the replica's count of tokens at the last poll
	baseline float64 // and when the run began
	faults   int     // consecutive polls that found a fault
}

const (
	// A replica makes some tokens of a request that we abort after the last that we see:
	// those of its next chunk, and those until it notices. (Two replicas of vLLM 0.23.0 made
	// no token more in 2304 rollouts, and 28 more in 29 that were aborted at once, on
	// processors that were busy eight times over.)
	unseenTokens = 256 // of a request that was aborted, or that runs, at most
	spareTokens  = 64  // of a replica's count that was late when the run began

	// faultThreshold is the number of consecutive polls that must find a fault: the
	// metrics of a single poll may be behind.
	faultThreshold = 2

	// Replicas have nothing left to do soon after the last request of a run.
	settleWithin = 30 * time.Second
	settlePoll   = 20 * time.Millisecond
)

// begin waits until the replica has nothing to do, and empties its prefix cache.
func (l *load) begin(ctx context.Context, c clock.Clock) error {
	m, err := l.drain(ctx, c, drainWithin, poll)
	if err != nil {
		return err
	}
	l.baseline, l.before = m.GenerationTokens, m.GenerationTokens
	if err := l.Client.ResetPrefixCache(ctx); err != nil && !errors.Is(err, vllm.ErrNotOffered) {
		return err
	}
	return l.Client.Health(ctx)
}

// compare returns the fault that a replica's metrics show, nil if there is none.
// Our counts are read after the metrics were requested, so that they are not less
// than at that time.
func (l *load) compare(m vllm.Metrics) error {
	outstanding := l.outstanding.Load()
	ours, unseen := outstanding+l.left.Swap(0), outstanding+l.broken.Load()
	made, seen := m.GenerationTokens-l.baseline, l.tokens.Load()
	switch has := int64(m.Running + m.Waiting); {
	case m.GenerationTokens < l.before:
		l.faults = faultThreshold // this poll is enough
		return fmt.Errorf("replica %s was started again: its count of tokens fell from %.0f to %.0f", l.Name, l.before, m.GenerationTokens)
	case has > ours:
		return fmt.Errorf("replica %s has %d requests, %d of them ours: somebody else uses it", l.Name, has, ours)
	case made > float64(seen+unseen*unseenTokens+spareTokens):
		return fmt.Errorf("replica %s has made %.0f tokens, %d of them ours: somebody else uses it", l.Name, made, seen)
	}
	l.before = m.GenerationTokens
	return nil
}

// poll polls a replica's metrics and returns a fault that enough polls have found.
func (l *load) poll(ctx context.Context) error {
	m, err := l.Client.Metrics(ctx)
	if err == nil {
		err = l.compare(m)
	}
	if err == nil {
		l.faults = 0
	} else if l.faults++; l.faults < faultThreshold {
		err = nil
	}
	return err
}

// drain waits until the replica has nothing left to do.
func (l *load) drain(ctx context.Context, c clock.Clock, within, pause time.Duration) (m vllm.Metrics, err error) {
	for end := c.Now().Add(within); ; {
		if m, err = l.Client.Metrics(ctx); err == nil {
			if m.Running+m.Waiting == 0 {
				return m, nil
			}
			err = fmt.Errorf("replica %s has %d requests, %v after the last of ours: somebody else uses it", l.Name, m.Running+m.Waiting, within)
		}
		if !c.Now().Before(end) {
			return m, err
		}
		if ended := c.Sleep(ctx, pause); ended != nil {
			return m, ended
		}
	}
}
