package timed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"speceval/internal/vllm"
)

// Sample is what a server said of itself.
type Sample struct {
	At       time.Time // when it had answered
	Replica  int
	Requests int     // running and waiting
	Tokens   float64 // generated since its start
}

// Watch looks at servers over and over.
type Watch struct {
	clients []*vllm.Client
	stop    context.CancelFunc
	looks   sync.WaitGroup

	mu      sync.Mutex
	samples []Sample // in order of time
}

// Look asks servers once. Those that do not answer are left out, with an error.
func Look(ctx context.Context, urls []string) ([]Sample, error) {
	w, err := newWatch(urls)
	if err != nil {
		return nil, err
	}
	defer w.close()
	for i := range w.clients {
		if err := w.look(ctx, i); err != nil {
			return w.samples, err
		}
	}
	return w.samples, nil
}

// Start begins to look at servers, at each so often. Those that do not answer
// are passed over.
func Start(urls []string, every time.Duration) (*Watch, error) {
	w, err := newWatch(urls)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	for i := range w.clients {
		w.looks.Go(func() {
			for ctx.Err() == nil {
				_ = w.look(ctx, i)
				select {
				case <-ctx.Done():
				case <-time.After(every):
				}
			}
		})
	}
	return w, nil
}

func newWatch(urls []string) (*Watch, error) {
	w := &Watch{}
	for _, url := range urls {
		client, err := vllm.New(url, vllm.Options{})
		if err != nil {
			return nil, err
		}
		w.clients = append(w.clients, client)
	}
	return w, nil
}

func (w *Watch) look(ctx context.Context, i int) error {
	m, err := w.clients[i].Metrics(ctx)
	if err != nil {
		return fmt.Errorf("metrics of %s: %w", w.clients[i].URL(), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples = append(w.samples, Sample{time.Now(), i, m.Running + m.Waiting, m.GenerationTokens})
	return nil
}

func (w *Watch) close() {
	for _, c := range w.clients {
		c.Close()
	}
}

// Stop ends the looks and gives what was seen.
func (w *Watch) Stop() []Sample {
	w.stop()
	w.looks.Wait()
	w.close()
	return w.samples
}

// Grown is how many tokens servers have made between their first and their last
// sample; a count that fell began anew.
func Grown(samples []Sample) float64 {
	last, grown := map[int]float64{}, 0.0
	for _, s := range samples {
		before, seen := last[s.Replica]
		switch {
		case seen && s.Tokens >= before:
			grown += s.Tokens - before
		case seen:
			grown += s.Tokens
		}
		last[s.Replica] = s.Tokens
	}
	return grown
}

// Gone is the longest that servers had requests that were aborted, after the
// allocation that made them surplus, as far as samples tell, and of how many
// runs they do.
func Gone(all []*Results, samples []Sample) (longest time.Duration, runs int, err error) {
	for _, r := range all {
		for _, run := range r.Runs {
			tokens, _ := r.aborts(run)
			if run.Aborted+run.Cancelled == 0 || tokens == 0 {
				continue
			}
			started, err := time.Parse(time.RFC3339Nano, run.Started)
			if err != nil {
				return 0, 0, fmt.Errorf("%s, %s: %w", r.Name(), run.Strategy, err)
			}
			allocated := started.Add(seconds(run.Allocated))
			for replica, until := range r.lingering(run, started, samples) {
				if until.IsZero() {
					return 0, 0, fmt.Errorf("%s, repeat %d: replica %d was not seen without surplus requests", r.Name(), run.Repeat, replica)
				}
				longest = max(longest, until.Sub(allocated))
			}
			runs++
		}
	}
	return longest, runs, nil
}

// lingering is when each replica that had aborted requests of a run was first
// seen with no more than those that were not.
func (r *Results) lingering(run Run, started time.Time, samples []Sample) map[int]time.Time {
	until := map[int]time.Time{}
	for _, q := range r.Requests(run) {
		if q.State == aborted {
			until[int(q.Replica)] = time.Time{}
		}
	}
	for _, s := range samples {
		at := s.At.Sub(started).Seconds()
		if when, had := until[s.Replica]; !had || !when.IsZero() || at < run.Allocated {
			continue
		}
		ours := 0
		for _, q := range r.Requests(run) {
			if int(q.Replica) == s.Replica && q.AbortedTokens == nil && q.Submitted <= at && q.Finished >= at {
				ours++
			}
		}
		if s.Requests <= ours {
			until[s.Replica] = s.At
		}
	}
	return until
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
