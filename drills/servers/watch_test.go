//go:build drill

package servers_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"speceval/internal/vllm"
)

// sample is a server's metrics at a time.
type sample struct {
	at       time.Time // when it had answered
	replica  int
	requests int     // running and waiting
	tokens   float64 // generated since its start
}

// sampled asks every server once for its metrics.
func sampled(ctx context.Context, urls []string) ([]sample, error) {
	w, err := newWatch(urls)
	if err != nil {
		return nil, err
	}
	defer w.close()
	for i := range w.clients {
		if err := w.poll(ctx, i); err != nil {
			return w.samples, err
		}
	}
	return w.samples, nil
}

// watch polls servers.
type watch struct {
	clients []*vllm.Client
	stop    context.CancelFunc
	polls   sync.WaitGroup

	mu      sync.Mutex
	samples []sample // in order of time
}

// startWatch begins to poll servers, each so often. Those that do not answer are passed
// over.
func startWatch(urls []string, every time.Duration) (*watch, error) {
	w, err := newWatch(urls)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	for i := range w.clients {
		w.polls.Go(func() {
			for ctx.Err() == nil {
				_ = w.poll(ctx, i)
				select {
				case <-ctx.Done():
				case <-time.After(every):
				}
			}
		})
	}
	return w, nil
}

func newWatch(urls []string) (*watch, error) {
	w := &watch{}
	for _, url := range urls {
		client, err := vllm.New(url, vllm.Options{})
		if err != nil {
			return nil, err
		}
		w.clients = append(w.clients, client)
	}
	return w, nil
}

func (w *watch) poll(ctx context.Context, i int) error {
	m, err := w.clients[i].Metrics(ctx)
	if err != nil {
		return fmt.Errorf("metrics of %s: %w", w.clients[i].URL(), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples = append(w.samples, sample{time.Now(), i, m.Running + m.Waiting, m.GenerationTokens})
	return nil
}

func (w *watch) close() {
	for _, c := range w.clients {
		c.Close()
	}
}

// end ends the polls and returns the samples.
func (w *watch) end() []sample {
	w.stop()
	w.polls.Wait()
	w.close()
	return w.samples
}

// inFlight is how many requests servers have.
func inFlight(samples []sample) (n int) {
	for _, s := range samples {
		n += s.requests
	}
	return n
}

// tokensMade is how many tokens servers have made between their first and their last
// sample; a count that fell began anew.
func tokensMade(samples []sample) float64 {
	last, made := map[int]float64{}, 0.0
	for _, s := range samples {
		before, seen := last[s.replica]
		switch {
		case seen && s.tokens >= before:
			made += s.tokens - before
		case seen:
			made += s.tokens
		}
		last[s.replica] = s.tokens
	}
	return made
}

// surplusGone is the longest that servers had requests that were aborted, after the
// allocation that made them surplus, as far as samples show, and of how many runs they do.
func surplusGone(all []*results, samples []sample) (longest time.Duration, runs int, err error) {
	for _, r := range all {
		for _, one := range r.runs {
			if tokens, _ := r.aborts(one); one.Aborted+one.Cancelled == 0 || tokens == 0 {
				continue
			}
			started, err := time.Parse(time.RFC3339Nano, one.Started)
			if err != nil {
				return 0, 0, fmt.Errorf("%s, %s: %w", r.name(), one.Strategy, err)
			}
			allocated := started.Add(seconds(one.Allocated))
			for replica, until := range r.lingering(one, started, samples) {
				if until.IsZero() {
					return 0, 0, fmt.Errorf("%s: replica %d was not seen without surplus requests", r.runName(one), replica)
				}
				longest = max(longest, until.Sub(allocated))
			}
			runs++
		}
	}
	return longest, runs, nil
}

// lingering is when each replica that had aborted requests of a run was first seen with no
// more than those that were not.
func (r *results) lingering(one run, started time.Time, samples []sample) map[int]time.Time {
	until := map[int]time.Time{}
	for _, q := range r.of(one) {
		if q.State == aborted {
			until[int(q.Replica)] = time.Time{}
		}
	}
	for _, s := range samples {
		at := s.at.Sub(started).Seconds()
		if when, had := until[s.replica]; !had || !when.IsZero() || at < one.Allocated {
			continue
		}
		ours := 0
		for _, q := range r.of(one) {
			if int(q.Replica) == s.replica && q.AbortedTokens == nil && q.Submitted <= at && q.Finished >= at {
				ours++
			}
		}
		if s.requests <= ours {
			until[s.replica] = s.at
		}
	}
	return until
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
