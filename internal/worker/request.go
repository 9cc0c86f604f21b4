package worker

import (
	"context"
	"errors"
	"time"

	"speceval/internal/controller"
	"speceval/internal/pool"
	"speceval/internal/router"
	"speceval/internal/vllm"
)

// request is a rollout on its way.
type request struct {
	number int
	id     controller.ID
	place  *pool.Place
	ctx    context.Context
	abort  context.CancelFunc
	tally  *tally // of its replica
}

// send streams a request to its end, and is the event of that. Of the pieces
// that come in between only the counts of tokens are kept.
func (e *Engine) send(r *request) router.Event {
	started, tokens := time.Duration(-1), 0
	completion, err := r.place.Stream(e.settings.Request(r.id), func(u vllm.Usage) {
		if started < 0 {
			started = e.since(e.settings.Clock.Now())
		}
		r.tally.tokens.Add(int64(u.Completion - tokens))
		tokens = u.Completion
	})
	r.tally.ended(err != nil)
	if err == nil && e.settings.Answer != nil {
		err = e.settings.Answer(r.ctx, r.id, completion)
	}
	event := router.Event{
		Request: r.number, Replica: r.place.Replica(),
		Started: started, Finished: e.since(completion.Finished),
		Prompt: completion.Usage.Prompt, Generated: completion.Usage.Completion,
	}
	switch {
	case err == nil:
		event.Kind = router.Completed
	case r.ctx.Err() != nil && errors.Is(err, context.Canceled):
		event.Kind = router.Aborted
	default:
		event.Kind, event.Err = router.Failed, err
	}
	return event
}
