package conformance

import (
	"context"
	"fmt"
	"sync"
)

// crowds are many requests at once.
func crowds() []Check {
	return []Check{
		{"crowd/together", "a full batch is answered whole", together},
		{"crowd/seeds", "seeds hold in a batch", seedsTogether},
		{"crowd/queue", "what is too much waits, and is served in order", queue},
	}
}

// all asks for several answers at once.
func (s *session) all(ctx context.Context, n int, set func(i int) fields) ([]answer, error) {
	got := make([]answer, n)
	faults := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { got[i], _, faults[i] = s.ask(ctx, set(i)) })
	}
	group.Wait()
	for _, err := range faults {
		if err != nil {
			return nil, err
		}
	}
	return got, nil
}

func together(ctx context.Context, s *session) (Observation, error) {
	before, err := s.await(ctx, 0, 0)
	if err != nil {
		return "", err
	}
	got, err := s.all(ctx, s.Sequences, func(i int) fields { return fields{"seed": i, "max_tokens": 64} })
	if err != nil {
		return "", err
	}
	for _, a := range got {
		if a.Usage.Completion != 64 {
			return "", fmt.Errorf("%d tokens instead of 64", a.Usage.Completion)
		}
	}
	after, err := s.await(ctx, 0, 0)
	if err != nil {
		return "", err
	}
	n := float64(s.Sequences)
	var l lines
	l.add("as many answers as sequences, of 64 tokens each")
	l.add("generation_tokens_total grew by their tokens: %t", after[generatedName]-before[generatedName] == 64*n)
	l.add("request_success_total grew by their number: %t", after[successName]-before[successName] == n)
	return l.seen(), nil
}

// Batches change rounding, and a near tie may then fall to another token: a few
// texts of a batch may differ from those asked for alone.
func seedsTogether(ctx context.Context, s *session) (Observation, error) {
	const n, mayDiffer = 16, 3
	set := func(i int) fields { return fields{"seed": 100 + i, "max_tokens": 32} }
	batch, err := s.all(ctx, n, set)
	if err != nil {
		return "", err
	}
	same := 0
	for i := range batch {
		alone, _, err := s.ask(ctx, set(i))
		if err != nil {
			return "", err
		}
		if alone.text() == batch[i].text() {
			same++
		}
	}
	if same < n-mayDiffer {
		return "", fmt.Errorf("%d of %d texts are those asked for alone", same, n)
	}
	return "the texts of a batch are those asked for alone, but for a few at most", nil
}

// queue fills the server and lets three wait; then it aborts the first.
func queue(ctx context.Context, s *session) (Observation, error) {
	const extra = 3
	crowded, cancel := context.WithCancel(ctx)
	defer cancel()
	opened := make([]chan *stream, s.Sequences+extra)
	failed := make(chan error, len(opened))
	for i := range opened {
		opened[i] = make(chan *stream, 1)
		go func() {
			st, err := s.open(crowded, fields{"seed": i, "max_tokens": s.endless(), "stream_options": everyUsage})
			if err != nil {
				failed <- err
				return
			}
			opened[i] <- st
		}()
		// One after another, so that the order is known.
		if _, err := s.await(ctx, min(i+1, s.Sequences), max(0, i+1-s.Sequences)); err != nil {
			return "", err
		}
	}
	var l lines
	l.add("running at the limit, %d waiting", extra)
	first, err := received(ctx, opened[0], failed)
	if err != nil {
		return "", err
	}
	first.close()
	if _, err := s.await(ctx, s.Sequences, extra-1); err != nil {
		return "", err
	}
	next, err := received(ctx, opened[s.Sequences], failed)
	if err != nil {
		return "", err
	}
	if _, err := next.until(1); err != nil {
		return "", err
	}
	l.add("one aborted: the first that waited runs, %d waiting", extra-1)
	cancel()
	if _, err := s.await(ctx, 0, 0); err != nil {
		return "", err
	}
	l.add("all aborted: none running, none waiting")
	return l.seen(), nil
}

func received(ctx context.Context, opened chan *stream, failed chan error) (*stream, error) {
	select {
	case st := <-opened:
		return st, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
