package worker

import (
	"context"
	"errors"
	"time"

	"speceval/internal/pool"
	"speceval/internal/router"
	"speceval/internal/vllm"
	"speceval/method/controller"
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

// carry gives the events of a request: of its end, and where somebody takes the
// completion, of when that is done.
func (e *Engine) carry(r *request) {
	event, completion := e.send(r)
	if event.Kind != router.Completed || e.settings.Answer == nil {
		e.give(event)
		return
	}
	event.Kind = router.Answered
	e.give(event)
	err := e.settings.Answer(e.ctx, r.id, completion) // not r.ctx: surplus that has completed is scored, too
	if event.Kind = router.Completed; err != nil {
		event.Kind, event.Err = router.Failed, err
	}
	e.give(event)
}

// errUncounted is of a server that tells no tokens: what a run costs could not
// be said.
var errUncounted = errors.New("an answer without counts of tokens: serve the model by vLLM")

// give puts an event where Next finds it, unless the run is over.
func (e *Engine) give(event router.Event) {
	select {
	case e.events <- event:
	case <-e.ctx.Done():
	}
}

// send streams a request to its end, and is the event of that. Of the pieces
// that come in between only the counts of tokens are kept.
func (e *Engine) send(r *request) (router.Event, vllm.Completion) {
	started, tokens := time.Duration(-1), 0
	completion, err := r.place.Stream(e.settings.Request(r.id), func(p vllm.Piece) {
		if started < 0 {
			started = e.since(e.settings.Clock.Now())
		}
		if p.Usage.Told() {
			r.tally.tokens.Add(int64(p.Usage.Completion - tokens))
			tokens = p.Usage.Completion
		}
	})
	r.tally.ended(err != nil)
	event := router.Event{
		Request: r.number, Replica: r.place.Replica(),
		Started: started, Finished: e.since(completion.Finished),
	}
	if u := completion.Usage; u.Told() {
		event.Prompt, event.Generated = u.Prompt, u.Completion
	} else if err == nil {
		err = errUncounted
	}
	switch {
	case err == nil:
		event.Kind = router.Completed
	case r.ctx.Err() != nil && errors.Is(err, context.Canceled):
		event.Kind = router.Aborted
	default:
		event.Kind, event.Err = router.Failed, err
	}
	return event, completion
}
