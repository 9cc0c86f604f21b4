package evaluation

import (
	"maps"
	"slices"

	"speceval/internal/router"
	"speceval/method/controller"
)

// account sets what the requests came to, and tells those that count from the
// others.
func (r *Result) account(rows []Request, session int32, record *router.Record, places int) {
	settle(rows, r.Rows)
	r.tally(rows)
	ends := make(map[int32]float64) // of earlier sessions
	for i := range rows {
		if q := &rows[i]; q.Session != session {
			ends[q.Session] = max(ends[q.Session], q.end())
		}
	}
	r.Seconds = record.Time.Seconds()
	for _, s := range slices.Sorted(maps.Keys(ends)) {
		r.Seconds += ends[s]
	}
	r.Barrier = idle(rows, session, record.Allocated.Seconds(), places)
}

// settle gives the requests that completed their states, now that it is known
// what is selected. Where a rollout has two, since its first answer was damaged,
// the last one counts.
func settle(rows []Request, tasks []Task) {
	selected := make(map[string]int32, len(tasks)) // rollouts, by task
	for _, t := range tasks {
		selected[t.ID] = t.Pilots + t.Continuations
	}
	seen := make(map[place]bool)
	for i := len(rows) - 1; i >= 0; i-- {
		q := &rows[i]
		at := q.place()
		switch {
		case q.State != completed:
		case seen[at]:
			q.State = lost
		case q.Rollout < selected[q.Task]:
			q.State = router.Accepted.String()
		default:
			q.State = router.Discarded.String()
		}
		seen[at] = seen[at] || q.State == router.Accepted.String() || q.State == router.Discarded.String()
	}
}

// carried tells which requests another one went on from: their tokens are among its.
func carried(rows []Request) map[int]bool {
	gone, last := make(map[int]bool), make(map[place]int)
	for i := range rows {
		if before, there := last[rows[i].place()]; there && rows[i].PrefixTokens > 0 {
			gone[before] = true
		}
		last[rows[i].place()] = i
	}
	return gone
}

// wasted are the tokens of a request without an answer.
func (q *Request) wasted(carried bool) int64 {
	if carried {
		return 0
	}
	return int64(*q.AbortedTokens)
}

// end is the last time that is known of the request.
func (q *Request) end() float64 {
	end := q.Submitted
	for _, at := range []*float64{q.Finished, q.RewardReady} {
		if at != nil {
			end = max(end, *at)
		}
	}
	return end
}

// idle is how long places stood empty in a session between the submission of the
// last pilot and the final allocation, on average over all places, in seconds. It
// is 0 where no allocation was waited for.
func idle(rows []Request, session int32, allocated float64, places int) float64 {
	last := -1.0
	for i := range rows {
		if q := &rows[i]; q.Session == session && q.Phase == controller.Pilot.String() {
			last = max(last, q.Submitted)
		}
	}
	if last < 0 || allocated <= last {
		return 0
	}
	busy := 0.0
	for i := range rows {
		q := &rows[i]
		if q.Session != session || q.Finished == nil {
			continue
		}
		busy += max(0, min(*q.Finished, allocated)-max(q.Submitted, last))
	}
	return max(0, (allocated-last)-busy/float64(places))
}
