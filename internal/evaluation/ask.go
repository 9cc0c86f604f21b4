package evaluation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"speceval/internal/rollout"
	"speceval/internal/router"
	"speceval/internal/shown"
	"speceval/internal/vllm"
	"speceval/method/controller"
)

// record is a request that is about to be sent.
func (e *engine) record(number int, id controller.ID) *Request {
	place := e.place(id)
	return &Request{
		Session: e.store.session, Number: int32(number),
		Task: e.Setup.TaskIDs[id.Task], Phase: id.Phase.String(), Ordinal: id.Ordinal, Rollout: place.Rollout,
		Submitted: e.Now().Seconds(), State: lost,
		Prefetched: !e.control.Selected(id),
	}
}

// ask sends a request and keeps what comes of it, and then its score.
func (e *engine) ask(ctx context.Context, r *Request, id controller.ID) {
	place, end := e.place(id), e.Servers.ThinkEnd()
	request := e.Corpus.Request(place, end)
	r.Seed = request.Seed
	err := e.resume(&request, r, place)
	if err == nil {
		err = e.store.requests.Append(r)
	}
	if err != nil {
		e.stop(err)
		return
	}
	h := e.listen(&request, r, place)
	answer, server, err := e.Servers.Stream(ctx, request, h.hear)
	var kept *rollout.Rollout // nil beside an error
	if err == nil {
		answer.Sent = answer.Sent.Add(-h.before) // the whole answer took longer
		kept, err = e.Corpus.Rollout(place, &answer, server, end)
	}
	finished := e.Now()
	e.counts.underWay.Add(-1)
	r.Server, r.Finished = server, seconds(finished)
	r.Continued, r.AskedAgain = int32(answer.Continued), r.AskedAgain || answer.Again > 0
	if h.started >= 0 {
		r.Started = seconds(h.started)
	}
	event := router.Event{Request: int(r.Number), Started: h.started, Finished: finished}
	if err != nil {
		event.Kind, r.State = e.failure(ctx, h.started, id, err)
		h.failed(err)
		tokens := int32(max(0, h.usage.Completion))
		r.PromptTokens, r.AbortedTokens = int32(max(0, h.usage.Prompt)), &tokens
		event.Prompt, event.Generated, event.Err = max(0, h.usage.Prompt), max(0, h.usage.Completion), err
		if err := e.store.requests.Append(r); err != nil {
			e.stop(err)
		}
		e.give(event)
		return
	}
	event.Kind = router.Answered
	event.Prompt, event.Generated = int(kept.PromptTokens), int(kept.CompletionTokens)
	e.give(event) // the place is free: nothing is known of the answer yet
	if err := e.keep(kept, r); err != nil {
		e.stop(err)
		return
	}
	e.score(int(r.Number), id, kept, r)
}

// keep stores an answer with all that had come in when it did.
func (e *engine) keep(answer *rollout.Rollout, r *Request) error {
	if err := e.store.partials.Finish(answer); err != nil {
		return err
	}
	e.measure(answer)
	r.State, r.PromptTokens, r.CompletionTokens = completed, answer.PromptTokens, answer.CompletionTokens
	return e.store.requests.Append(r)
}

// failure tells how a request without an answer ended: aborted as surplus, given
// up with the evaluation, or by a fault. A fault that no other request can do
// better than stops the evaluation.
func (e *engine) failure(ctx context.Context, started time.Duration, id controller.ID, err error) (router.Kind, string) {
	switch {
	case e.ctx.Err() != nil:
		return router.Aborted, lost
	case ctx.Err() != nil && started < 0:
		return router.Aborted, router.CancelledQueued.String()
	case ctx.Err() != nil:
		return router.Aborted, router.AbortedRunning.String()
	}
	if errors.Is(err, vllm.ErrLost) {
		err = fmt.Errorf("%w: %s", err, whatThen)
	}
	var refused *vllm.Error
	if !errors.As(err, &refused) || refused.Kind == vllm.Rejected || refused.Kind == vllm.Unauthorized || refused.Kind == vllm.UnknownModel || refused.Kind == vllm.OtherModel {
		e.stop(fmt.Errorf("task %s: %w", shown.Line(e.Setup.TaskIDs[id.Task]), err))
	}
	return router.Failed, router.Faulty.String()
}

// score scores an answer, keeps the verdict, and reveals the reward. Continuations
// wait until the pilots are scored, for whose rewards alone the first barrier waits. A
// scorer that fails stops the evaluation: the answer is there to be scored again.
func (e *engine) score(number int, id controller.ID, r *rollout.Rollout, request *Request) {
	e.counts.scoring.Add(1)
	defer e.counts.scoring.Add(-1)
	if id.Phase == controller.Continuation {
		select {
		case <-e.piloted:
		case <-e.stopped:
			return
		}
	}
	v, err := e.Score(e.ctx, r.Response())
	if err == nil {
		err = v.Check()
	}
	if err != nil {
		if e.ctx.Err() == nil {
			e.stop(fmt.Errorf("score rollout %d of task %s: %w", r.Rollout, shown.Line(r.TaskID), err))
		}
		return
	}
	if err := e.store.verdicts.Append(&verdict{*v, e.Rules}); err != nil {
		e.stop(err)
		return
	}
	now := e.Now()
	if request != nil {
		request.RewardReady, request.Passed, request.Partial = seconds(now), &v.Correct, v.Partial
		if err := e.store.requests.Append(request); err != nil {
			e.stop(err)
			return
		}
	}
	e.reward(id, v.Reward())
	e.give(router.Event{Kind: router.Completed, Request: number, Finished: now})
}
