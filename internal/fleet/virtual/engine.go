// Package virtual is a simulated worker under a virtual clock: replicas with
// continuous batching whose answers have lengths and no text. It is an engine
// of the router, and the same rollouts take the same time on every machine.
package virtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/servers/router"
	"speceval/method/controller"
)

// Settings describe a simulated worker.
type Settings struct {
	Timing       fleet.Timing // of each replica
	Replicas     int          // at least 1
	Window       int          // outstanding requests per replica, at least 1
	MaxSequences int          // that a replica runs at a time, the others wait there; 0: no limit

	// Lengths are the tokens of a rollout's prompt and, at least 1, of its answer. It is
	// called once for every request.
	Lengths func(controller.ID) (prompt, tokens int)

	// Latency is how long a request takes in addition to the steps of its replica. Its
	// end is reported that much later; its place stays taken meanwhile.
	Latency     time.Duration
	Handling    time.Duration // the router is busy with a completion; the replicas go on meanwhile
	Computation time.Duration // of a background computation
}

// Engine is a worker that is simulated event by event, a router.Engine. It is
// for one execution and one goroutine.
type Engine struct {
	settings Settings
	now      time.Duration
	replicas []replica
	flights  []flight // one per place
	free     []int32  // places that are
	places   []int32  // of requests, by number
	computed time.Duration
	pending  []router.Event // ends that the router has not seen, in order
}

// never is later than everything.
const never = time.Duration(1<<63 - 1)

// flight is a request on its way.
type flight struct {
	sequence fleet.Sequence
	request  int
	replica  int32
	seen     int // tokens that were there when its end was asked for
	aborted  bool
	over     bool          // its end is pending
	started  time.Duration // negative while it waits in its replica
}

// New is an idle worker at time 0.
func New(s Settings) (*Engine, error) {
	if s.Replicas < 1 || s.Window < 1 || s.Lengths == nil {
		return nil, fmt.Errorf("a simulated worker needs replicas, a window and lengths: has %d and %d", s.Replicas, s.Window)
	}
	s.MaxSequences = cmp.Or(s.MaxSequences, s.Window)
	e := &Engine{settings: s, flights: make([]flight, s.Replicas*s.Window), computed: never}
	for range s.Replicas {
		e.replicas = append(e.replicas, replica{batch: fleet.NewBatch(s.Timing, s.MaxSequences), most: s.MaxSequences, end: never})
	}
	for i := range e.flights {
		e.free = append(e.free, int32(len(e.flights)-1-i))
	}
	return e, nil
}

// Slots is the number of requests that may be outstanding.
func (e *Engine) Slots() int { return len(e.flights) }

// Now is the virtual time.
func (e *Engine) Now() time.Duration { return e.now }

// Submit sends a rollout to the replica with the fewest outstanding requests,
// the first of those. It joins that replica's next step.
func (e *Engine) Submit(request int, id controller.ID) {
	target := 0
	for i := range e.replicas {
		if e.replicas[i].outstanding < e.replicas[target].outstanding {
			target = i
		}
	}
	place := e.free[len(e.free)-1]
	e.free = e.free[:len(e.free)-1]
	e.places = append(e.places, place)

	f := &e.flights[place]
	*f = flight{request: request, replica: int32(target), started: -1, sequence: fleet.Sequence{Owner: f}}
	f.sequence.Prompt, f.sequence.Tokens = e.settings.Lengths(id)
	e.catchUp(target)
	e.replicas[target].accept(f, e.now)
}

// Abort ends a request at the end of the step under way, with the tokens that are
// there now. A request that has ended is left as it is.
func (e *Engine) Abort(request int) {
	f := &e.flights[e.places[request]]
	if f.request != request || f.aborted || f.over {
		return
	}
	e.catchUp(int(f.replica))
	if !f.over && e.replicas[f.replica].abort(f, e.now) {
		e.end(f, e.now)
	}
}

// Compute says that f is done once a computation has taken its time. It does not call f: its
// result is worth computing only if somebody wants it.
func (e *Engine) Compute(func()) { e.computed = e.now + e.settings.Computation }

// Next is the next event: the first in time, then by replica and request. A
// background computation comes before requests that end in the same instant.
func (e *Engine) Next(ctx context.Context) (router.Event, error) {
	for {
		due := e.computed
		if len(e.pending) > 0 {
			due = min(due, e.pending[0].Finished)
		}
		first := e.first(due)
		switch {
		case first >= 0:
			e.advance(first)
		case due == never:
			return router.Event{}, errors.New("nothing is outstanding, so that no event will come")
		case ctx.Err() != nil:
			return router.Event{}, context.Cause(ctx)
		case e.computed == due:
			e.computed = never
			e.now = max(e.now, due)
			return router.Event{Kind: router.Computed, Request: -1, Replica: -1, Started: -1, Finished: due}, nil
		default:
			event := e.pending[0]
			e.pending = slices.Delete(e.pending, 0, 1)
			e.replicas[event.Replica].outstanding--
			e.free = append(e.free, e.places[event.Request])
			e.now = max(e.now, due)
			if event.Kind == router.Completed {
				e.now += e.settings.Handling
			}
			return event, nil
		}
	}
}

// first is the replica whose run of steps ends first, by a given time; -1 if
// none does. Runs begin as late as they can, for a request that comes in the
// same instant is part of them.
func (e *Engine) first(by time.Duration) int {
	first := -1
	earlier := func(i int, at time.Duration) {
		if at != never && at <= by && (first < 0 || at < by) {
			first, by = i, at
		}
	}
	for i := range e.replicas {
		earlier(i, e.replicas[i].end)
	}
	for i := range e.replicas {
		earlier(i, e.replicas[i].next(by))
	}
	return first
}

// catchUp takes a replica to the present, for its load is about to change.
func (e *Engine) catchUp(i int) {
	for e.replicas[i].next(e.now) <= e.now {
		e.advance(i)
	}
}

// advance ends a replica's run of steps.
func (e *Engine) advance(i int) {
	r := &e.replicas[i]
	for _, s := range r.advance() {
		e.end(s.Owner.(*flight), r.at)
	}
}

// end makes the event of a request that is over.
func (e *Engine) end(f *flight, at time.Duration) {
	f.over = true
	event := router.Event{
		Kind: router.Completed, Request: f.request, Replica: int(f.replica), Started: f.started, Finished: at + e.settings.Latency,
		Prompt: f.sequence.Prompt, Generated: f.sequence.Tokens,
	}
	if f.aborted {
		event.Kind, event.Generated = router.Aborted, f.seen
		if f.seen == 0 { // nothing was seen of it, not even its prompt's length
			event.Prompt = 0
		}
	}
	i, _ := slices.BinarySearchFunc(e.pending, event, order)
	e.pending = slices.Insert(e.pending, i, event)
}

// order is the order in which the router sees events.
func order(a, b router.Event) int {
	return cmp.Or(cmp.Compare(a.Finished, b.Finished), cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.Request, b.Request))
}
