package router

import (
	"slices"
	"time"

	"speceval/internal/servers/flops"
	"speceval/method/controller"
)

// State is how a request ended.
type State uint8

// States.
const (
	Outstanding State = iota // not yet ended
	Scoring                  // completed, its reward still to come
	Accepted                 // completed and selected
	Discarded                // completed, not selected
	AbortedRunning
	CancelledQueued // aborted before a replica was seen to begin
	Faulty          // failed
)

// String is the state's name in files.
func (s State) String() string {
	return [...]string{"outstanding", "scoring", "accepted", "completed_discarded", "aborted_running", "cancelled_queued", "failed"}[s]
}

// Request is one request that was submitted. Times are since the first
// dispatch.
type Request struct {
	ID         controller.ID
	Replica    int
	State      State
	Prefetched bool    // submitted before the barrier that could select it, as a speculative continuation
	Reward     float64 // if it completed, from 0 to 1

	Submitted, Started, Finished, RewardReady time.Duration // Started and RewardReady negative if they never were

	// Freed is when the request ended whose place this one took, where all others were
	// taken: Submitted−Freed is the router's delay of the place. Negative where places had
	// been free, since nothing had been waiting.
	Freed time.Duration

	Prompt, Generated int // tokens, as in Event
}

// Passed reports whether a request completed with the whole reward.
func (q *Request) Passed() bool { return q.Reward == 1 }

// Record is one execution of a policy.
type Record struct {
	Policy     controller.Policy
	Requests   []Request // in the order of submission
	Allocation []int     // continuations of each task (L); of Uniform b − m each

	Time       time.Duration // from the first dispatch to the last selected reward
	PilotReady time.Duration // when the last pilot reward was there
	Allocated  time.Duration // when the final allocation was known: the last barrier
	Released   time.Duration // when the last request had ended, and had its reward

	// Barriers are when each stage after the first was decided; of Uniform there are none.
	Barriers []time.Duration

	Races    int           // surplus requests that completed although they were to be aborted
	Retries  int           // requests that were submitted again after a failure
	Updates  int           // provisional allocations that came into force
	Handling time.Duration // wall time of the router's own work, events and dispatches
}

// Count is the number of requests that ended in a state.
func (r *Record) Count(s State) int {
	n := 0
	for i := range r.Requests {
		if r.Requests[i].State == s {
			n++
		}
	}
	return n
}

// Gaps are the times from the end of a request to the submission that took its
// place, sorted: of all submissions that found no other place free. Of Uniform
// those are all but the first that fill the places; of HBN they are those for
// which work was waiting when the place became free.
func (r *Record) Gaps() []time.Duration {
	var gaps []time.Duration
	for i := range r.Requests {
		if q := &r.Requests[i]; q.Freed >= 0 {
			gaps = append(gaps, q.Submitted-q.Freed)
		}
	}
	slices.Sort(gaps)
	return gaps
}

// Extra is the number of surplus rollouts: completed and discarded, or aborted
// while they ran.
func (r *Record) Extra() int { return r.Count(Discarded) + r.Count(AbortedRunning) }

// Tokens returns the tokens of accepted rollouts, and of surplus ones as far as they were
// seen (paper, appendix on system execution).
func (r *Record) Tokens() (useful, wasted flops.Tokens) {
	for i := range r.Requests {
		q := &r.Requests[i]
		switch q.State {
		case Accepted:
			useful.Add(q.Prompt, q.Generated)
		case Discarded, AbortedRunning:
			wasted.Add(q.Prompt, q.Generated)
		}
	}
	return useful, wasted
}
