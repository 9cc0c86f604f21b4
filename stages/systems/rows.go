package systems

import (
	"fmt"
	"math"
	"time"

	"speceval/internal/coupled"
	"speceval/internal/measurement"
	"speceval/internal/router"
)

// requestSchema is that of requests files.
const requestSchema = "systems-requests/1"

// row is the outcome as a row.
func (o outcome) row(provenance string) measurement.Run {
	r := o.record
	useful, wasted := r.Tokens()
	row := measurement.Run{
		Benchmark: o.profile.Benchmark, Model: o.profile.Model, NTasks: int32(o.profile.N()),
		ReferenceBudget: int32(o.budget), Budget: int32(o.accepts()), Pilots: int32(o.Pilots),
		Strategy: o.strategy.Name, Provenance: provenance, Rewards: o.rewards, Repeat: int32(o.repeat),
		Time: r.Time.Seconds(), Pilot: r.PilotReady.Seconds(), Allocated: r.Allocated.Seconds(),
		Released: r.Released.Seconds(), Handling: r.Handling.Seconds(),
		Accepted: int32(r.Count(router.Accepted)), Discarded: int32(r.Count(router.Discarded)),
		Aborted: int32(r.Count(router.AbortedRunning)), Cancelled: int32(r.Count(router.CancelledQueued)),
		Races: int32(r.Races), Updates: int32(r.Updates),
		UsefulTokens: useful.Sequence, UsefulCompletion: useful.Completion, UsefulPairs: useful.Pairs,
		WastedTokens: wasted.Sequence, WastedCompletion: wasted.Completion, WastedPairs: wasted.Pairs,
		Allocation: coupled.AllocationDigest(o.profile.TaskIDs, r.Allocation),
	}
	row.PilotMean, row.ContinuationMean = o.means()
	for i := range r.Requests {
		if r.Requests[i].Prefetched {
			row.Prefetched++
		}
	}
	if gaps := r.Gaps(); len(gaps) > 0 {
		row.Gaps = int32(len(gaps))
		row.GapMedian, row.GapP99 = quantile(gaps, 0.5).Seconds(), quantile(gaps, 0.99).Seconds()
	}
	return row
}

// quantile is the smallest of sorted times that a share of them do not exceed.
func quantile(sorted []time.Duration, share float64) time.Duration {
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// check says what is wrong with an outcome: a run that did not do what its
// strategy says must not become a number.
func (o outcome) check() error {
	accepted, want := o.record.Count(router.Accepted), o.profile.N()*o.accepts()
	switch {
	case accepted != want:
		return fmt.Errorf("%d rollouts were accepted, want %d", accepted, want)
	case o.record.Retries > 0:
		return fmt.Errorf("%d requests were sent again", o.record.Retries)
	case o.record.Time <= 0:
		return fmt.Errorf("it took %v", o.record.Time)
	case o.record.Extra() > 0 && !o.strategy.Speculates():
		return fmt.Errorf("%d rollouts more than accepted, under %s", o.record.Extra(), o.strategy.Name)
	}
	return nil
}

// requests are the outcome's requests as rows, in the order of submission.
// Generated says that they have been generated, under seeds.
func (o outcome) requests(generated bool) []measurement.Request {
	identities := o.identities()
	rows := make([]measurement.Request, len(o.record.Requests))
	for i, q := range o.record.Requests {
		row := &rows[i]
		*row = measurement.Request{
			Strategy: o.strategy.Name, Repeat: int32(o.repeat), ID: identities.Logical(q.ID),
			Task: o.profile.TaskIDs[q.ID.Task], Phase: q.ID.Phase.String(), Ordinal: q.ID.Ordinal, Replica: int32(q.Replica),
			Submitted: q.Submitted.Seconds(), Finished: q.Finished.Seconds(),
			PromptTokens: int32(q.Prompt), State: q.State.String(), Prefetched: q.Prefetched,
		}
		if generated {
			seed := identities.Seed(q.ID)
			row.Seed = &seed
		}
		if q.Started >= 0 {
			row.Started = seconds(q.Started)
		}
		if q.RewardReady >= 0 {
			passed := q.Passed()
			row.RewardReady, row.Passed, row.CompletionTokens = seconds(q.RewardReady), &passed, int32(q.Generated)
		} else {
			seen := int32(q.Generated)
			row.AbortedTokens = &seen
		}
	}
	return rows
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}
