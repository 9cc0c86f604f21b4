package evaluation

import (
	"maps"
	"path/filepath"
	"slices"

	"speceval/internal/evaluation/ledger"
	"speceval/internal/servers/router"
	"speceval/internal/store/rowfile"
	"speceval/method/controller"
)

// Request is one request that was sent, as a row of requests.parquet. Times are
// seconds since the first of its session, the process that sent it.
type Request struct {
	Session int32  `parquet:"session" json:"session"` // from 0
	Number  int32  `parquet:"number" json:"number"`   // in the session, in order of submission
	Task    string `parquet:"task" json:"task"`
	Phase   string `parquet:"phase" json:"phase"`
	Ordinal int32  `parquet:"ordinal" json:"ordinal"` // in the phase, from 1
	Rollout int32  `parquet:"rollout" json:"rollout"` // of the task, as in rollouts.parquet
	Seed    int64  `parquet:"seed" json:"seed"`
	Server  string `parquet:"server" json:"server"` // "" if it reached none

	Submitted   float64  `parquet:"submitted" json:"submitted"`
	Started     *float64 `parquet:"started" json:"started"`           // its first tokens; null if none were seen
	Finished    *float64 `parquet:"finished" json:"finished"`         // null if it was under way when the process ended
	RewardReady *float64 `parquet:"reward_ready" json:"reward_ready"` // null without a reward

	PromptTokens     int32  `parquet:"prompt_tokens" json:"prompt_tokens"`
	CompletionTokens int32  `parquet:"completion_tokens" json:"completion_tokens"` // 0 unless it completed
	AbortedTokens    *int32 `parquet:"aborted_tokens" json:"aborted_tokens"`       // seen before its end; null if it completed

	State      string `parquet:"state" json:"state"`
	Passed     *bool  `parquet:"passed" json:"passed"` // its reward is 1; null without one
	Prefetched bool   `parquet:"prefetched" json:"prefetched"`

	PrefixTokens int32 `parquet:"prefix_tokens" json:"prefix_tokens"` // of earlier requests, from which it continues the answer
	Continued    int32 `parquet:"continued" json:"continued"`         // how often it was lost itself and went on
	AskedAgain   bool  `parquet:"asked_again" json:"asked_again"`     // it begins anew though something was seen before, or may have been

	Reward *float64 `parquet:"reward,maybe" json:"reward,omitempty"`    // null without one
	Cost   float64  `parquet:"cost,maybe" json:"cost,omitempty"`        // dollars that the server charged; 0 where it does not tell
	Void   int64    `parquet:"void_tokens,maybe" json:"void,omitempty"` // tokens of tries before, within the request, that came to nothing
}

// rolloutKey names a rollout as requests do.
type rolloutKey struct {
	task    string
	rollout int32
}

func (r *Request) key() rolloutKey { return rolloutKey{r.Task, r.Rollout} }

// States of requests, in addition to those of package router.
const (
	lost      = "lost"      // under way when the process ended, or its answer was damaged
	completed = "completed" // until it is known what is selected
)

// requestID finds a request again.
type requestID struct{ Session, Number int32 }

func (r *Request) id() requestID { return requestID{r.Session, r.Number} }

// readRequests reads the requests of a complete evaluation.
func readRequests(folder string) ([]Request, error) {
	rows, _, err := rowfile.ReadFile[Request](filepath.Join(folder, RequestsFile))
	return rows, err
}

// Cost is the dollars of an evaluation.
type Cost struct {
	Dollars  float64 `json:"usd"`
	Reported bool    `json:"reported"` // by the servers, of every request that reached one; otherwise by the prices
}

// tokens counts the generated tokens of a request.
func (q *Request) tokens() int64 {
	n := int64(q.CompletionTokens-q.PrefixTokens) + q.Void
	if q.AbortedTokens != nil {
		n += int64(*q.AbortedTokens)
	}
	return n
}

// cost is the dollars of a request, and whether its server reported them.
func (q *Request) cost(price *ledger.Price) (dollars float64, reported bool) {
	switch {
	case q.Cost > 0:
		return q.Cost, true
	case price != nil:
		return price.Of(float64(q.PromptTokens), float64(q.tokens())), q.PromptTokens == 0
	}
	return 0, false
}

// account sets what the requests came to, and cost if their prices are known or servers told, and
// marks the requests that count.
func (r *Result) account(rows []Request, price *ledger.Price, session int32, record *router.Record, places int) {
	r.settle(rows)
	ends, c := make(map[int32]float64), Cost{Reported: true} // of earlier sessions
	for i := range rows {
		dollars, reported := rows[i].cost(price)
		c.Dollars, c.Reported = c.Dollars+dollars, c.Reported && reported
		for _, at := range []*float64{&rows[i].Submitted, rows[i].Finished, rows[i].RewardReady} {
			if q := &rows[i]; q.Session != session && at != nil {
				ends[q.Session] = max(ends[q.Session], *at)
			}
		}
	}
	if c.Dollars > 0 {
		r.Cost = &c
	}
	r.Seconds = record.Time.Seconds()
	for _, s := range slices.Sorted(maps.Keys(ends)) {
		r.Seconds += ends[s]
	}
	r.Barrier = idle(rows, session, record.Allocated.Seconds(), places)
}

// settle gives the requests that completed their states, now that it is known what is selected,
// and counts the requests that do not count. Where a rollout has two that completed, since its
// first answer was damaged, the last one counts.
func (r *Result) settle(rows []Request) {
	selected := make(map[string]int, len(r.Rows)) // rollouts, by task
	for _, t := range r.Rows {
		selected[t.ID] = t.Rollouts()
	}
	whole, later := make(map[rolloutKey]bool), make(map[rolloutKey]*Request)
	for i := range rows {
		q := &rows[len(rows)-1-i]
		at := q.key()
		next := later[at]
		later[at] = q
		if q.State == completed {
			q.State = router.Discarded.String()
			if whole[at] {
				q.State = lost
			} else if int(q.Rollout) < selected[q.Task] {
				q.State = router.Accepted.String()
			}
			whole[at] = true
		}
		switch q.State {
		case router.Discarded.String():
			r.Extra++
			r.Tokens.Wasted += int64(q.CompletionTokens)
		case router.AbortedRunning.String():
			r.Extra++
			fallthrough
		case router.Faulty.String():
			if next == nil || next.PrefixTokens == 0 { // else its tokens are among those of the next, which went on from it
				r.Tokens.Wasted += int64(*q.AbortedTokens)
			}
		case lost:
			r.Lost++
		}
	}
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
