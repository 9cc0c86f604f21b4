package evaluation

import (
	"context"
	"math"
	"sync"

	"speceval/internal/rollout"
	"speceval/internal/vllm"
)

// ledger counts the tokens of all answers as they come in, and holds requests back whose
// tokens cannot be seen while others may reach the limit. It may be used concurrently.
type ledger struct {
	limit   int64 // tokens; 0: none
	longest int64 // answer, in tokens

	mu     sync.Mutex
	costs  map[rollout.ID]*cost
	listed map[rollout.ID]bool // that count in the total: submitted in this session
	total  int64
	unseen int           // requests of which nothing has come
	freed  chan struct{} // closed, and made anew, when one of them is seen or ends
	over   chan struct{} // closed when the total is above the limit

	answers       int64   // that count
	sums, squares float64 // of their lengths
	bytes, tokens int64   // of answers whose tokens were told
}

// cost is the tokens of a rollout.
type cost struct {
	last   int64 // of its answer, or of the latest try so far
	before int64 // of tries before
	lost   int64 // tries before of which nothing is known: each counts like the answer
	open   bool  // nothing is known of the latest try either
	done   bool  // last is an answer's
}

func (c *cost) all() int64 { return c.before + c.last*(1+c.lost) }

// again begins a further try, from so many tokens of the one before.
func (c *cost) again(prefix int64) {
	if c.open && prefix == 0 {
		c.lost++
	}
	c.before += max(0, c.last-prefix)
	c.last, c.open, c.done = prefix, false, false
}

func newLedger(limit int64, longest int) *ledger {
	return &ledger{
		limit: limit, longest: int64(longest), costs: make(map[rollout.ID]*cost), listed: make(map[rollout.ID]bool),
		freed: make(chan struct{}), over: make(chan struct{}),
	}
}

// replay takes in the requests of earlier sessions. They count when their rollouts are
// submitted again, as they did then.
func (l *ledger) replay(rows []Request, index map[string]int32) {
	for i := range rows {
		q := &rows[i]
		c := l.of(rollout.ID{Task: index[q.Task], Rollout: q.Rollout})
		c.again(int64(q.PrefixTokens))
		c.before += q.Void
		switch {
		case q.State == completed:
			c.last, c.done = int64(q.CompletionTokens), true
		case q.AbortedTokens != nil:
			c.last = max(c.last, int64(*q.AbortedTokens))
		default:
			c.open = true
		}
	}
}

func (l *ledger) of(id rollout.ID) *cost {
	c := l.costs[id]
	if c == nil {
		c = new(cost)
		l.costs[id] = c
	}
	return c
}

// change changes what a rollout has cost.
func (l *ledger) change(id rollout.ID, by func(c *cost)) {
	if l.limit == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.of(id)
	l.sum(id, c, -1)
	by(c)
	l.sum(id, c, 1)
	if l.total > l.limit && !l.reached() {
		close(l.over)
	}
}

// sum adds a rollout to the sums, or takes it out, if it counts.
func (l *ledger) sum(id rollout.ID, c *cost, sign int64) {
	if !l.listed[id] {
		return
	}
	l.total += sign * c.all()
	if c.done {
		l.answers += sign
		l.sums += float64(sign * c.last)
		l.squares += float64(sign * c.last * c.last)
	}
}

// list makes a rollout count that is submitted.
func (l *ledger) list(id rollout.ID) {
	l.change(id, func(c *cost) { l.listed[id] = true })
}

// begin begins a request for a rollout, from so many tokens of the one before.
func (l *ledger) begin(id rollout.ID, prefix int32) {
	l.change(id, func(c *cost) { c.again(int64(prefix)) })
}

// anew voids what has come of an answer, and returns its tokens.
func (l *ledger) anew(id rollout.ID) (void int64) {
	l.change(id, func(c *cost) {
		void = c.last
		c.again(0)
	})
	return void
}

// answered notes the answer of a rollout. Tokens that were not told are estimated by its
// text.
func (l *ledger) answered(r *rollout.Rollout) {
	l.change(r.ID(), func(c *cost) {
		bytes, tokens := int64(len(r.Text)+len(r.Reasoning)), int64(r.CompletionTokens)
		if tokens == 0 {
			tokens = bytesPerToken.tokens(bytes)
		} else if !c.done {
			l.bytes, l.tokens = l.bytes+bytes, l.tokens+tokens
		}
		c.last, c.done, c.open = tokens, true, false
	})
}

// ratio is bytes of text for a token.
type ratio float64

// bytesPerToken is that of English prose, of most tokenizers.
const bytesPerToken ratio = 4

func (r ratio) tokens(bytes int64) int64 { return int64(math.Ceil(float64(bytes) / float64(r))) }

// heard notes what has come of an answer so far: its tokens if they are told, otherwise
// the pieces of the text, of which the tokens are estimated by the answers so far.
func (l *ledger) heard(id rollout.ID, prefix int64, usage vllm.Usage, ids, bytes int64) {
	l.change(id, func(c *cost) {
		tokens := int64(usage.Completion)
		if tokens <= 0 {
			by := bytesPerToken
			if l.tokens > 0 && l.bytes > 0 {
				by = ratio(float64(l.bytes) / float64(l.tokens))
			}
			tokens = prefix + max(ids, by.tokens(bytes))
		}
		c.last = max(c.last, tokens)
	})
}

// slack is the share of the limit by which it may be exceeded.
const slack = 0.05

// enter waits until one more request whose tokens are not seen fits: all of them together
// could not exceed the limit by more than the slack. One alone always does. leave says that
// something of the request is seen, or that it has ended.
func (l *ledger) enter(ctx context.Context) (leave func()) {
	for l.limit > 0 {
		l.mu.Lock()
		most := float64(l.total) + float64(l.unseen+1)*float64(l.longest)
		if l.unseen == 0 || most <= (1+slack)*float64(l.limit) {
			l.unseen++
			l.mu.Unlock()
			return sync.OnceFunc(l.leave)
		}
		freed := l.freed
		l.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return func() {}
		}
	}
	return func() {}
}

func (l *ledger) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unseen--
	close(l.freed)
	l.freed = make(chan struct{})
}

// reached reports whether the total is above the limit.
func (l *ledger) reached() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// used is what the first rollouts of a task have taken.
func (l *ledger) used(task, rollouts int) (u Used) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range rollouts {
		if c := l.costs[rollout.ID{Task: int32(task), Rollout: int32(n)}]; c != nil {
			last := float64(c.last)
			u.add(Used{float64(c.all()), last, last * last})
		}
	}
	return u
}

// spent is the tokens of all answers that were submitted.
func (l *ledger) spent() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// least is what so many rollouts take in all at least, those that count so far among them,
// but for once in a thousand times. What has come of answers in flight is the least that
// they can be.
func (l *ledger) least(rollouts int) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	least := float64(l.total)
	if further := rollouts - len(l.listed); l.answers >= fewAnswers && further > 0 {
		next := l.next()
		least += max(0, 2*float64(further)*next.mean-next.most(further))
	}
	return least
}

// enough is what so many rollouts take in all, and no more but about once in a thousand times.
// Answers in flight are longer than those that are there: the mean is all tokens over the
// answers that are complete. Without any, all answers may be as long as can be.
func (l *ledger) enough(rollouts int) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := float64(rollouts) * float64(l.longest)
	if l.answers == 0 {
		return longest
	}
	next := l.next()
	variance := next.square - next.mean*next.mean
	next.mean = float64(l.total) / next.seen
	next.square = variance + next.mean*next.mean
	if l.answers < fewAnswers {
		next.square = max(next.square, 2*next.mean*next.mean)
	}
	further := rollouts - len(l.listed)
	enough := float64(l.total) + max(float64(further)*next.mean, next.most(further))
	for id := range l.listed {
		if c := l.costs[id]; !c.done {
			enough += max(0, next.mean-float64(c.last))
		}
	}
	return min(enough, longest)
}

// next is the lengths of answers by those that are there.
func (l *ledger) next() lengths {
	n := float64(l.answers)
	return lengths{n, l.sums / n, l.squares / n}
}

// fewAnswers are too few to say from that a limit is too small.
const fewAnswers = 6
