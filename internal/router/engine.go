package router

import (
	"context"
	"time"

	"speceval/method/controller"
)

// Engine is the replicas of one worker and their clock: simulated ones under a
// virtual clock, or servers under the wall clock. The router uses it from one
// goroutine.
type Engine interface {
	// Slots is how many requests may be outstanding: those submitted that no event
	// has ended. An answer that waits for its reward has no place any more.
	Slots() int
	// Submit sends a rollout to the replica with the fewest outstanding
	// requests, the first of those. It does not wait. Request numbers the
	// submissions of a run from 0; events carry it.
	Submit(request int, id controller.ID)
	// Abort asks for the end of an outstanding request. Its Aborted event
	// follows, or its Completed one if that was faster.
	Abort(request int)
	// Compute works f out in the background and says so by a Computed event.
	// One computation runs at a time. An engine whose clock is virtual may
	// leave f to the first who needs its result.
	Compute(f func())
	// Next waits for the next event. Events of one request come in order.
	Next(ctx context.Context) (Event, error)
	// Now is the time since the engine was made. It never goes backwards.
	Now() time.Duration
}

// Kind is what happened.
type Kind uint8

// Kinds of events. Each of the first four ends a request but for a Completed one
// after Answered, and all but Answered are the last of theirs.
const (
	Completed Kind = iota // the rollout is there, and its reward can be asked for
	Answered              // the rollout is there; a Completed event follows with its reward
	Aborted               // the request has ended without one, as asked
	Failed                // the request has ended without one, by a fault
	Computed              // the background computation is done
)

// Event is something that happened to a request, or in the background.
type Event struct {
	Kind    Kind
	Request int // as given to Submit
	Replica int // that had the request, from 0

	// Started is when the replica began to work on the request, Finished when
	// it ended; both by the engine's clock. Started is negative if the replica
	// has not been seen to begin.
	Started, Finished time.Duration

	// Prompt and Generated are the tokens of the rollout; of a request that was
	// aborted, those seen before its end.
	Prompt, Generated int

	Err error // of Failed
}
