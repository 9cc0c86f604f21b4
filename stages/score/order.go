package score

import (
	"context"
	"iter"
	"sync"

	"speceval/internal/rollout"
	"speceval/pipeline/dag"
)

// window is how many responses are in memory at most, between the one that is
// written next and the one that was read last.
const window = 1024

// scored is a response on its way from reader to writer.
type scored struct {
	response *rollout.Response
	score    *rollout.Score
	err      error
	done     chan struct{} // closed when score or err is there
}

// scores gives the scores of all responses, in the order in which these are
// stored, while several are being scored. The first error ends it.
func (s *scoring) scores(ctx context.Context, parts []string) iter.Seq2[*rollout.Score, error] {
	return func(yield func(*rollout.Score, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		queue, work := make(chan *scored, window), make(chan *scored)
		all.Go(func() {
			defer close(queue)
			defer close(work)
			s.read(ctx, parts, queue, work)
		})
		for range s.atATime {
			all.Go(func() {
				for item := range work {
					item.score, item.err = s.score(ctx, item.response)
					close(item.done)
				}
			})
		}
		written := 0
		for item := range queue {
			<-item.done
			if !yield(item.score, item.err) || item.err != nil {
				return
			}
			written++
			s.advance(written)
			if written%s.Rollouts == 0 {
				s.done(item.response.TaskIndex + 1)
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// read hands every response to the writer's queue and to the workers, until
// there are no more or the run wants to end.
func (s *scoring) read(ctx context.Context, parts []string, queue, work chan<- *scored) {
	for response, err := range rollout.Responses(parts) {
		item := &scored{response: response, err: err, done: make(chan struct{})}
		if err == nil {
			item.err = s.check(response)
		}
		select {
		case <-s.job.Draining():
			item.err = dag.ErrDrained
		default:
		}
		if item.err != nil {
			close(item.done)
		}
		select {
		case queue <- item:
		case <-ctx.Done():
			return
		}
		if item.err != nil {
			return
		}
		select {
		case work <- item:
		case <-ctx.Done():
			item.err = ctx.Err()
			close(item.done)
			return
		}
	}
}

// advanceEvery is after how many responses progress is told.
const advanceEvery = 64

// advance tells how far the unit is.
func (s *scoring) advance(done int) {
	if done%advanceEvery == 0 || done == s.total() {
		s.job.Advance(dag.Progress{Done: done, Total: s.total(), Stored: min(s.stored, done), What: "responses"})
	}
}
