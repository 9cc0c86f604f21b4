package router

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"speceval/internal/machine/clock"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
)

// load counts our requests at one replica during a run, and compares them with its metrics at the
// end. It does not find other load on a replica's machine, or requests of others that ended
// without an answer and after so few tokens that they may be those of requests that we aborted.
type load struct {
	pool.Replica
	tokens   atomic.Int64 // as seen
	answered atomic.Int64
	broken   atomic.Int64 // requests that ended before their last token
	before   vllm.Metrics // when the run began
}

const (
	// A replica makes some tokens of a request that we abort after the last that we see:
	// those of its next chunk, and those until it notices. (Two replicas of vLLM 0.23.0 made
	// no token more in 2304 rollouts, and 28 more in 29 that were aborted at once, on
	// processors that were busy eight times over.)
	unseenTokens = 256
	spareTokens  = 64 // of a replica's count that was late

	// How long replicas have until they have nothing left to do, before a run and after
	// its last request, and the pause between two questions.
	drainWithin  = 300 * time.Second
	settleWithin = 30 * time.Second
	drainPoll    = 20 * time.Millisecond
)

// end waits until the replica has nothing left to do, and returns the fault that its metrics show.
func (l *load) end(ctx context.Context, c clock.Clock) error {
	m, err := l.drain(ctx, c, settleWithin)
	if err != nil {
		return err
	}
	made, seen := int64(m.GenerationTokens-l.before.GenerationTokens), l.tokens.Load()
	answered, ours, broken := int64(m.Answered-l.before.Answered), l.answered.Load(), l.broken.Load()
	switch {
	case made+spareTokens < seen || answered < 0:
		return fmt.Errorf("replica %s was started again: by its count it has made %d tokens of %d", l.Name, made, seen)
	case answered > ours+broken:
		return fmt.Errorf("replica %s has answered %d requests, %d of them ours: somebody else uses it", l.Name, answered, ours)
	case made > seen+broken*unseenTokens+spareTokens:
		return fmt.Errorf("replica %s has made %d tokens, %d of them ours: somebody else uses it", l.Name, made, seen)
	}
	return nil
}

// drain waits until the replica has nothing to do.
func (l *load) drain(ctx context.Context, c clock.Clock, within time.Duration) (m vllm.Metrics, err error) {
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
		if ended := c.Sleep(ctx, drainPoll); ended != nil {
			return m, ended
		}
	}
}
