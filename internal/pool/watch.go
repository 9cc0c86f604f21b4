package pool

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"speceval/internal/vllm"
)

// watch looks at the metrics of a replica that has requests now and then, and
// takes it out when it makes no token of them, or does not answer. /health does
// not show that. It is out at once when it lets nobody in any more: a vLLM that is
// told to end may keep the connections of requests that it will not answer.
func (p *Pool) watch(r *replica) {
	var s stillness
	for p.settings.Clock.Sleep(p.ctx, p.settings.Poll) == nil {
		p.mu.Lock()
		busy, life := r.alive && len(r.leases) > 0, r.life
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
		if s.look(now, m, err); now.Sub(s.since) < p.settings.Hang {
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

// stillness is since when a replica has made no token.
type stillness struct {
	since time.Time // zero: never looked
	last  vllm.Metrics
}

// look takes in what a replica said at a time. One that has nothing to do, or
// no metrics of vLLM at all, counts as moving.
func (s *stillness) look(now time.Time, m vllm.Metrics, err error) {
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
