// Package ledger counts the tokens of all answers of an evaluation against a limit, and foresees
// what further answers take.
package ledger

import (
	"cmp"
	"context"
	"math"
	"sync"

	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
)

// Ledger counts the tokens of all answers as they come in, and holds requests back whose
// tokens cannot be seen while others may reach the limit. It may be used concurrently.
type Ledger struct {
	limit   int64   // tokens; 0: none
	longest int64   // answer, in tokens
	weight  float64 // of a token of a prompt, in tokens of answers

	mu     sync.Mutex
	costs  map[rollout.ID]*cost
	total  int64              // tokens of the listed costs
	unseen int                // requests without any part of an answer yet
	freed  chan struct{}      // closed, and made anew, when one of them is seen or ends
	over   context.Context    // done when the total is above the limit
	reach  context.CancelFunc // ends it

	answers       int   // that count
	bytes, tokens int64 // of answers with a count by the server
}

// cost is the tokens of a rollout.
type cost struct {
	last   int64 // of its answer, or of the latest try so far
	before int64 // of tries before
	lost   int64 // earlier tries without any known length: each counts like the answer
	prompt int64 // of each try, in tokens of answers
	tries  int64
	open   bool // the length of the latest try is unknown, too
	done   bool // last is an answer's
	listed bool // submitted in this session: it counts in the total
}

func (c *cost) all() int64 { return c.before + c.last*(1+c.lost) + c.prompt*c.tries }

// again begins a further try, which goes on from prefix tokens of the one before.
func (c *cost) again(prefix int64) {
	if c.open && prefix == 0 {
		c.lost++
	}
	c.tries++
	c.before += max(0, c.last-prefix)
	c.last, c.open, c.done = prefix, false, false
}

// New returns a ledger without answers; longest is the most tokens that an answer may have, and
// weight what a token of a prompt counts.
func New(limit int64, longest int, weight float64) *Ledger {
	l := &Ledger{limit: limit, longest: int64(longest), weight: weight, costs: make(map[rollout.ID]*cost), freed: make(chan struct{})}
	l.over, l.reach = context.WithCancel(context.Background())
	return l
}

// Over is closed when all answers have taken more than the limit.
func (l *Ledger) Over() <-chan struct{} { return l.over.Done() }

// Try is a request of an earlier session.
type Try struct {
	Prompt   int   // its tokens; 0: not known
	Prefix   int64 // tokens of the one before, from which it went on
	Void     int64 // tokens within it that came to nothing
	Tokens   int64 // of its answer, or seen of it before it ended
	Known    bool  // it ended before its session did
	Answered bool
}

// Earlier takes in a request of an earlier session. It counts when its rollout is submitted
// again, as it did then.
func (l *Ledger) Earlier(id rollout.ID, t Try) {
	l.change(id, func(c *cost) {
		c.again(t.Prefix)
		l.asked(c, t.Prompt)
		c.before += t.Void
		c.last, c.done, c.open = max(c.last, t.Tokens), t.Answered, !t.Known
	})
}

// change changes what a rollout has cost.
func (l *Ledger) change(id rollout.ID, by func(c *cost)) {
	if l.limit == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.costs[id]
	if c == nil {
		c = new(cost)
		l.costs[id] = c
	}
	l.sum(c, -1)
	by(c)
	l.sum(c, 1)
	if l.total > l.limit {
		l.reach()
	}
}

// sum adds a rollout to the sums, or takes it out, if it counts.
func (l *Ledger) sum(c *cost, sign int) {
	if c.listed {
		l.total += int64(sign) * c.all()
	}
	if c.listed && c.done {
		l.answers += sign
	}
}

// List makes a rollout count that is submitted.
func (l *Ledger) List(id rollout.ID) {
	l.change(id, func(c *cost) { c.listed = true })
}

// Begin begins a request for a rollout, which goes on from prefix tokens of the one before,
// with a prompt of the given bytes.
func (l *Ledger) Begin(id rollout.ID, prefix int32, prompt int) {
	l.change(id, func(c *cost) {
		c.again(int64(prefix))
		if c.prompt == 0 {
			l.asked(c, int(tokens(int64(prompt), BytesPerToken)))
		}
	})
}

// asked notes the tokens of a rollout's prompt.
func (l *Ledger) asked(c *cost, tokens int) {
	if tokens > 0 {
		c.prompt = int64(math.Ceil(l.weight * float64(tokens)))
	}
}

// Anew voids what has come of an answer, and returns its tokens.
func (l *Ledger) Anew(id rollout.ID) (void int64) {
	l.change(id, func(c *cost) {
		void = c.last
		c.again(0)
	})
	return void
}

// Answered notes the answer of a rollout. Tokens that no server counts are estimated by its
// text.
func (l *Ledger) Answered(r *rollout.Rollout) {
	l.change(r.ID(), func(c *cost) {
		bytes, counted := int64(len(r.Text)+len(r.Reasoning)), int64(r.CompletionTokens)
		if counted > 0 && !c.done {
			l.bytes, l.tokens = l.bytes+bytes, l.tokens+counted
		}
		c.last, c.done, c.open = cmp.Or(counted, tokens(bytes, BytesPerToken)), true, false
		l.asked(c, int(r.PromptTokens))
	})
}

// BytesPerToken is the bytes of English prose for a token, by most tokenizers.
const BytesPerToken = 4

// tokens of a text, by the bytes of each.
func tokens(bytes int64, each float64) int64 { return int64(math.Ceil(float64(bytes) / each)) }

// Heard notes the length of an answer so far: the server's count, or else the pieces of the
// text, whose tokens are estimated by the answers so far.
func (l *Ledger) Heard(id rollout.ID, prefix int64, usage vllm.Usage, ids, bytes int64) {
	l.change(id, func(c *cost) {
		so := int64(usage.Completion)
		if so <= 0 {
			each := float64(BytesPerToken)
			if l.tokens > 0 && l.bytes > 0 {
				each = float64(l.bytes) / float64(l.tokens)
			}
			so = prefix + max(ids, tokens(bytes, each))
		}
		c.last = max(c.last, so)
		l.asked(c, usage.Prompt)
	})
}

// slack is the share of the limit by which it may be exceeded.
const slack = 0.05

// Enter waits until one more request whose tokens are not seen fits: all of them together
// could not exceed the limit by more than the slack. One alone always does. leave says that
// something of the request is seen, or that it has ended.
func (l *Ledger) Enter(ctx context.Context) (leave func()) {
	for l.limit > 0 {
		l.mu.Lock()
		most := float64(l.total) + float64(l.unseen+1)*float64(l.longest)
		if l.unseen == 0 || most <= (1+slack)*float64(l.limit) {
			l.unseen++
			l.mu.Unlock()
			return sync.OnceFunc(func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.unseen--
				close(l.freed)
				l.freed = make(chan struct{})
			})
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

// Reached reports whether the total is above the limit.
func (l *Ledger) Reached() bool { return l.over.Err() != nil }

// Used is the tokens of the first rollouts of a task.
func (l *Ledger) Used(task, rollouts int) (u Used) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range rollouts {
		if c := l.costs[rollout.ID{Task: int32(task), Rollout: int32(n)}]; c != nil {
			length := float64(c.last + c.prompt) // of one such answer
			u.Add(Used{float64(c.all()), length, length * length})
		}
	}
	return u
}

// Spent is the tokens of all answers, those of earlier sessions too that were not submitted
// again; 0 without a limit.
func (l *Ledger) Spent() (all int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit > 0 {
		for _, c := range l.costs {
			all += c.all()
		}
	}
	return all
}

// Enough is an upper bound of the tokens of the given rollouts in all, by the complete answers:
// those in flight are longer, so the mean is all tokens over the complete ones. Without any, all
// answers may be as long as can be.
func (l *Ledger) Enough(rollouts int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := Round(float64(rollouts) * float64(l.longest))
	if l.answers == 0 {
		return longest
	}
	return min(longest, Foreseen(rollouts, l.answers, float64(l.total)/float64(l.answers)))
}
