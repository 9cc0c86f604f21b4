package evaluation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"speceval/internal/benchmark/sampler"
	"speceval/internal/evaluation/ledger"
	"speceval/internal/servers/ending"
	"speceval/internal/servers/router"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
	"speceval/internal/terminal/display"
	"speceval/method/controller"
)

var _ router.Engine = (*engine)(nil)

// engine is the servers as the router sees them. What has been answered before is
// given at once; failures that another try or another replica may mend are the
// servers' own business. It stops, and Next says why, when there is no point in
// asking for more; then finish lets what is under way come to its end.
type engine struct {
	Settings
	store   *store
	control *controller.Controller
	start   time.Time

	ctx   context.Context
	end   context.CancelFunc
	tasks sync.WaitGroup // of requests
	chore sync.WaitGroup // what goes on until the end

	events      chan router.Event
	ready       []router.Event             // of rollouts that were there
	outstanding map[int]context.CancelFunc // aborts, by request

	piloted context.Context // done when the pilot is over, and continuations are selected
	pilot   context.CancelFunc
	over    context.Context         // done when the evaluation is
	stop    context.CancelCauseFunc // ends it; the first cause counts

	mu       sync.Mutex         // of what follows
	observed []controller.Stage // that are complete
	selected []int              // rollouts by task, with the stage under way
	rewards  map[controller.ID]float64
	tokens   int64        // of requests that have ended
	dollars  float64      // for them
	tally    ending.Tally // of answers that have come in

	ledger  *ledger.Ledger // of a limit on tokens
	dropped int            // the stage that reached it; 0: none
}

func newEngine(ctx context.Context, s Settings, st *store) *engine {
	e := &engine{
		Settings: s, store: st, start: s.Clock.Now(),
		outstanding: make(map[int]context.CancelFunc), rewards: make(map[controller.ID]float64),
		ledger: ledger.New(s.Setup.Limit(), s.Corpus.Sampling.MaxTokens, s.Setup.PromptWeight()),
	}
	e.events = make(chan router.Event, e.Slots()+1)
	e.ctx, e.end = context.WithCancel(ctx)
	e.piloted, e.pilot = context.WithCancel(context.Background())
	e.over, e.stop = context.WithCancelCause(context.Background())
	return e
}

// Slots is as many requests as all replicas have places for. Those that wait for
// a replica that is out take one, too.
func (e *engine) Slots() int { return max(1, e.Servers.Places()) }

// Now is the time since the engine was made.
func (e *engine) Now() time.Duration { return max(0, e.Clock.Now().Sub(e.start)) }

// RolloutID is the rollout of an id, numbered from 0: those of the evaluation that is extended
// come first, then pilots, then continuations, so that files have one number for each rollout of
// a task.
func (s *Setup) RolloutID(id controller.ID) rollout.ID {
	n := int(id.Ordinal) - 1 + s.Extends.Rollouts(int(id.Task))
	if id.Phase != controller.Pilot {
		n += s.Design.Pilots
	}
	return rollout.ID{Task: id.Task, Rollout: int32(n)}
}

// ControllerID is the id of a rollout of a task, from 0 after the evaluation that is extended.
func (s *Setup) ControllerID(task, n int) controller.ID {
	if m := s.Design.Pilots; n >= m {
		return controller.ID{Task: int32(task), Phase: controller.Continuation, Ordinal: int32(n + 1 - m)}
	}
	return controller.ID{Task: int32(task), Phase: controller.Pilot, Ordinal: int32(n + 1)}
}

// Submit gives the rollout that is there, or asks for it in the background.
func (e *engine) Submit(number int, id controller.ID) {
	rolloutID := e.Setup.RolloutID(id)
	e.ledger.List(rolloutID)
	r, v, err := e.store.find(rolloutID, e.Rules)
	if err != nil {
		e.stop(err)
		return
	}
	ctx, cancel := context.WithCancel(e.ctx)
	e.outstanding[number] = cancel
	if r == nil {
		request := &Request{
			Session: e.store.session, Number: int32(number),
			Task: e.Setup.TaskIDs[id.Task], Phase: id.Phase.String(), Ordinal: id.Ordinal, Rollout: rolloutID.Rollout,
			Submitted: e.Now().Seconds(), State: lost, Prefetched: !e.control.Selected(id),
		}
		e.tasks.Go(func() { e.ask(ctx, request, id, rolloutID) })
		return
	}
	e.ledger.Answered(r)
	now := e.Now()
	event := router.Event{
		Kind: router.Answered, Request: number, Started: now, Finished: now,
		Prompt: int(r.PromptTokens), Generated: int(r.CompletionTokens),
	}
	if v != nil {
		e.reward(id, v.Reward())
		event.Kind = router.Completed
	} else {
		e.tasks.Go(func() { e.score(number, id, r, nil) })
	}
	e.ready = append(e.ready, event)
}

// Abort closes the request's connection. Of one that has ended, nothing happens.
func (e *engine) Abort(number int) {
	if abort := e.outstanding[number]; abort != nil {
		abort()
	}
}

// Compute works f out in a goroutine of its own.
func (e *engine) Compute(f func()) {
	e.tasks.Go(func() {
		f()
		e.give(router.Event{Kind: router.Computed})
	})
}

// Next waits for the next event. The end of an evaluation comes before the events that it may
// have caused, and a limit that is reached before those that may have reached it.
func (e *engine) Next(ctx context.Context) (router.Event, error) {
	e.observe()
	if e.control.Stage() > 0 || e.control.Policy == controller.Uniform {
		e.pilot()
	}
	over := e.ledger.Over()
	if e.dropped > 0 {
		over = nil
	}
	for {
		select {
		case <-e.Drain:
			e.stop(ErrStopped)
		case <-ctx.Done():
			e.stop(ctx.Err())
		default:
		}
		switch err := context.Cause(e.over); {
		case err != nil:
			return router.Event{}, err
		case e.ledger.Reached() && e.dropped == 0:
			if e.dropped = e.control.Stage(); e.dropped > 0 {
				return router.Event{Kind: router.Exhausted}, nil
			}
			// Without a stage before it, a pilot that is dropped leaves no estimate.
			e.tooSmall(e.ledger.Enough(len(e.Setup.TaskIDs) * (e.control.Pilots + max(1, e.control.Least))))
			return router.Event{}, context.Cause(e.over)
		case len(e.ready) > 0:
			event := e.ready[0]
			e.ready = e.ready[1:]
			if abort := e.outstanding[event.Request]; abort != nil && event.Kind != router.Answered && event.Kind != router.Computed {
				abort() // it has ended: this frees its context
				delete(e.outstanding, event.Request)
			}
			return event, nil
		}
		select {
		case event := <-e.events:
			e.ready = append(e.ready, event)
		case <-over:
		case <-e.over.Done():
		case <-e.Drain:
		case <-ctx.Done():
		}
	}
}

// reward notes a reward, for the router to ask for.
func (e *engine) reward(id controller.ID, reward float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rewards[id] = reward
}

// rewarded is the reward of a rollout that has completed.
func (e *engine) rewarded(id controller.ID) float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rewards[id]
}

// give queues an event for Next, unless the run has ended.
func (e *engine) give(event router.Event) {
	select {
	case e.events <- event:
	case <-e.over.Done():
	}
}

// finish waits until nothing is under way any more: what is answered and scored
// until then is kept. When the evaluation's context ends, or a limit on tokens is reached,
// the rest is given up.
func (e *engine) finish() error {
	e.stop(errOver)
	e.chore.Go(func() {
		select {
		case <-e.ledger.Over():
			e.end()
		case <-e.ctx.Done():
		}
	})
	e.tasks.Wait()
	e.end()
	e.chore.Wait()
	return e.store.sync()
}

// errOver is the cause of the end of an evaluation that has all it needs.
var errOver = errors.New("the evaluation is over")

// ask sends a request and keeps what comes of it, and then its score.
func (e *engine) ask(ctx context.Context, r *Request, id controller.ID, rolloutID rollout.ID) {
	end := e.Servers.ThinkEnd()
	request := e.Corpus.Request(rolloutID, end)
	r.Seed = request.Seed
	keeps := sampler.Keeps(e.OnLoss, e.Servers)
	took, again, err := e.store.partials.Resume(&request, rolloutID, e.OnLoss, keeps)
	if err != nil {
		err = fmt.Errorf("rollout %d of task %s: %w: %s", r.Rollout, display.EscapedLine(r.Task), err, lossAdvice)
	}
	if r.AskedAgain = again; request.Prefix != nil {
		r.PrefixTokens = int32(len(request.Prefix.IDs))
	}
	prompt := 0 // bytes
	for _, m := range request.Messages {
		prompt += len(m.Content)
	}
	e.ledger.Begin(rolloutID, r.PrefixTokens, prompt)
	leave := e.ledger.Enter(ctx)
	defer leave()
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	if err == nil {
		err = e.store.requests.Append(r)
	}
	if err != nil {
		e.stop(err)
		return
	}
	h := &listener{engine: e, request: r, id: rolloutID, keeps: keeps, before: took, started: -1, leave: leave, abort: abort}
	e.store.partials.Asked(rolloutID, keeps)
	answer, server, err := e.Servers.Stream(ctx, request, h.hear)
	var kept *rollout.Rollout // nil if there is an error
	if err == nil {
		answer.Sent = answer.Sent.Add(-h.before) // the whole answer took longer
		kept, err = e.Corpus.Rollout(rolloutID, &answer, server, end)
	}
	finished := e.Now()
	r.Server, r.Finished = server, new(finished.Seconds())
	r.Continued, r.AskedAgain = int32(answer.Continued), r.AskedAgain || answer.Again > 0
	if h.started >= 0 {
		r.Started = new(h.started.Seconds())
	}
	event := router.Event{Request: int(r.Number), Started: h.started, Finished: finished}
	if err != nil {
		event.Kind, r.State = e.failure(ctx, h.started, id, err)
		event.Err = err
		h.unanswered(event)
		return
	}
	event.Kind = router.Answered
	r.Cost = answer.Usage.Cost
	event.Prompt, event.Generated = int(kept.PromptTokens), int(kept.CompletionTokens)
	e.give(event) // the place is free: nothing is known of the answer yet
	if err := e.keep(kept, r); err != nil {
		e.stop(err)
		return
	}
	e.score(int(r.Number), id, kept, r)
}

// early is the number of answers after which an evaluation warns of empty ones.
const early = 16

// keep stores an answer with all that had come in when it did.
func (e *engine) keep(answer *rollout.Rollout, r *Request) error {
	if err := <-e.store.partials.Deliver(answer); err != nil {
		return err
	}
	e.ledger.Answered(answer)
	e.mu.Lock()
	if e.tallied(&e.tally, answer, nil); e.tally.All == early && e.tally.Empty >= early/4 {
		e.say("warning: of the first answers, " + e.tally.Lines(0)[0])
	}
	e.mu.Unlock()
	r.State, r.PromptTokens, r.CompletionTokens = completed, answer.PromptTokens, answer.CompletionTokens
	e.ended(r)
	return e.store.requests.Append(r)
}

// failure tells how a request without an answer ended: aborted as surplus, given
// up with the evaluation, or by a fault. A fault that no other request can do
// better than stops the evaluation.
func (e *engine) failure(ctx context.Context, started time.Duration, id controller.ID, err error) (router.Kind, string) {
	switch {
	case e.ctx.Err() != nil || errors.Is(err, vllm.ErrStopped):
		return router.Aborted, lost
	case ctx.Err() != nil && started < 0:
		return router.Aborted, router.CancelledQueued.String()
	case ctx.Err() != nil:
		return router.Aborted, router.AbortedRunning.String()
	}
	if errors.Is(err, vllm.ErrLost) {
		err = fmt.Errorf("%w: %s", err, lossAdvice)
	}
	var refused *vllm.Error
	if !errors.As(err, &refused) || refused.Kind.Permanent() && refused.Kind != vllm.NotContinued {
		e.stop(fmt.Errorf("task %s: %w", display.EscapedLine(e.Setup.TaskIDs[id.Task]), err))
	}
	return router.Failed, router.Faulty.String()
}

// score scores an answer, keeps the verdict, and reveals the reward. Continuations
// wait until the pilots are scored, for whose rewards alone the first barrier waits. A
// scorer that fails stops the evaluation: the answer is there to be scored again.
func (e *engine) score(number int, id controller.ID, r *rollout.Rollout, request *Request) {
	if id.Phase == controller.Continuation {
		select {
		case <-e.piloted.Done():
		case <-e.over.Done():
			return
		}
	}
	v, err := e.Score(e.ctx, r.Response())
	if err == nil {
		err = v.Check()
	}
	if err != nil {
		if e.ctx.Err() == nil {
			e.stop(fmt.Errorf("score rollout %d of task %s: %w", r.Rollout, display.EscapedLine(r.TaskID), err))
		}
		return
	}
	if err := e.store.verdicts.Append(&verdict{*v, e.Rules}); err != nil {
		e.stop(err)
		return
	}
	now := e.Now()
	if request != nil {
		request.RewardReady, request.Passed, request.Reward = new(now.Seconds()), &v.Correct, new(v.Reward())
		if err := e.store.requests.Append(request); err != nil {
			e.stop(err)
			return
		}
	}
	e.reward(id, v.Reward())
	e.give(router.Event{Kind: router.Completed, Request: number, Finished: now})
}
