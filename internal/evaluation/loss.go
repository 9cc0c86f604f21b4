package evaluation

import (
	"errors"
	"time"

	"speceval/internal/servers/router"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
	"speceval/method/estimate"
)

// Losses are the rollouts that count whose answers were lost while they came in: a
// process was killed, a replica died, a connection was cut.
//
// One that was continued from what had been seen of it has the law of any other. One
// that was asked for again has not: the lost ones are the long ones more often than
// not. Had its first answer come to its end, the estimate would differ by the change
// of its reward, in [0, 1], times its weight in the estimate, and by nothing else on
// average, since continuations are fresh rollouts however many there are. So the
// estimate is too high by at most the sum of weight × reward of these rollouts, too
// low by at most the sum of weight × (1 − reward), and biased by no more than the
// expectations of these.
type Losses struct {
	Continued  int     `json:"continued"`   // rollouts
	AskedAgain int     `json:"asked_again"` // rollouts of which something was seen before, or may have been
	TooHigh    float64 `json:"too_high"`    // by which the estimate can be, at most
	TooLow     float64 `json:"too_low"`
	WorstCase  float64 `json:"worst_case"` // their sum, whatever the rewards: Σ weight
}

// Add adds those of another evaluation, whose estimate has a factor in what is made of
// both, −1 in a difference.
func (l *Losses) Add(other Losses, factor float64) {
	l.Continued, l.AskedAgain = l.Continued+other.Continued, l.AskedAgain+other.AskedAgain
	if factor < 0 {
		factor, other.TooHigh, other.TooLow = -factor, other.TooLow, other.TooHigh
	}
	l.TooHigh, l.TooLow, l.WorstCase = l.TooHigh+factor*other.TooHigh, l.TooLow+factor*other.TooLow, l.WorstCase+factor*other.WorstCase
}

// lossAdvice is the advice about an evaluation that would have to ask again.
const lossAdvice = "--on-loss continue asks for such rollouts again, and the result says what that can have done to the mean; another --seed begins anew"

// listener is the part of a request's answer that was received.
type listener struct {
	*engine
	request  *Request
	id       rollout.ID
	keeps    bool          // the request can resume from the part received
	received bool          // part of the answer was received
	before   time.Duration // that servers have worked on the answer before
	started  time.Duration // negative: not yet
	usage    vllm.Usage

	leave      func() // once something is seen
	abort      func() // at once when the limit is reached: the run may notice late
	ids, bytes int64  // that were received
}

// hear takes a piece of the answer.
func (h *listener) hear(p vllm.Piece) {
	if p.Anew {
		h.store.partials.Forget(h.id)
		h.before, h.request.AskedAgain = 0, true
		h.request.Void += h.ledger.Anew(h.id)
		h.ids, h.bytes = 0, 0
		if err := h.store.requests.Append(h.request); err != nil {
			h.stop(err)
		}
	}
	if h.started < 0 {
		h.started = h.Now()
	}
	h.usage = p.Usage
	h.received = h.received || len(p.IDs) > 0 || p.Text != "" || p.Reasoning != ""
	h.ids, h.bytes = h.ids+int64(len(p.IDs)), h.bytes+int64(len(p.Text)+len(p.Reasoning))
	h.ledger.Heard(h.id, int64(h.request.PrefixTokens), p.Usage, h.ids, h.bytes)
	if h.ledger.Reached() {
		h.abort()
	}
	if h.received {
		h.leave()
	}
	if h.keeps {
		h.store.partials.Saw(h.id, p)
	}
}

// unanswered keeps what came of a request that has no answer, and queues its event.
func (h *listener) unanswered(event router.Event) {
	var failure *vllm.Error
	switch { // where it is made again
	case h.keeps && h.received && h.store.partials.Find(h.id) == nil:
		h.store.partials.Torn(h.id, true) // it was heard, and is not kept
	case !h.keeps && h.started < 0 && errors.As(event.Err, &failure) && !failure.Worked():
		h.store.partials.Torn(h.id, false)
	}
	event.Prompt, event.Generated = max(0, h.usage.Prompt), max(0, h.usage.Completion)
	h.request.PromptTokens, h.request.AbortedTokens, h.request.Cost = int32(event.Prompt), new(int32(event.Generated)), h.usage.Cost
	h.ended(h.request)
	if err := h.store.requests.Append(h.request); err != nil {
		h.stop(err)
	}
	h.give(event)
}

// fate is the end of a lost rollout.
type fate struct{ continued, again bool }

// fates are the ends of all lost rollouts.
func fates(rows []Request) map[rolloutKey]fate {
	all := make(map[rolloutKey]fate)
	for i := range rows {
		q := &rows[i]
		f := all[q.key()]
		f.continued = !q.AskedAgain && (f.continued || q.PrefixTokens > 0 || q.Continued > 0)
		f.again = f.again || q.AskedAgain
		if f != (fate{}) {
			all[q.key()] = f
		}
	}
	return all
}

// lost are the fates of the rollouts of an evaluation, by its own requests and by
// those of what it extends, for the rollouts that it has from there.
func (s *Setup) lost(own []Request) (map[rolloutKey]fate, error) {
	all := fates(own)
	for x := s.Extends; x != nil; {
		rows, err := readRequests(x.Folder)
		if err != nil {
			return nil, err
		}
		lost := fates(rows)
		for i, id := range s.TaskIDs {
			for n := range x.Rollouts(i) {
				if f, there := lost[rolloutKey{id, int32(n)}]; there {
					all[rolloutKey{id, int32(n)}] = f
				}
			}
		}
		before, err := ReadSetup(x.Folder)
		if err != nil {
			return nil, err
		}
		x = before.Extends
	}
	return all, nil
}

// setLosses sets what was lost of the rollouts that count, which are numbered stage by stage.
func (r *Result) setLosses(lost map[rolloutKey]fate, rewards map[rollout.ID]float64) {
	r.Losses = Losses{}
	shares, sum := estimate.Shares(r.Counted())
	for i := range r.Rows {
		t, n := &r.Rows[i], int32(0)
		for _, stage := range t.Stages {
			weight := shares[i] / sum * stage.Weight / float64(stage.Rollouts)
			for range stage.Rollouts {
				f := lost[rolloutKey{t.ID, n}]
				if f.continued {
					r.Losses.Continued++
				}
				if f.again {
					x := rewards[rollout.ID{Task: t.Index, Rollout: n}]
					r.Losses.AskedAgain++
					r.Losses.TooHigh += weight * x
					r.Losses.TooLow += weight * (1 - x)
					r.Losses.WorstCase += weight
				}
				n++
			}
		}
	}
}
