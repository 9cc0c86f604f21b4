package controller

import (
	"cmp"
	"container/heap"
	"slices"

	"speceval/method/neyman"
)

// speculation is HBN-async's queue of continuations before the barrier: all
// (i, ℓ) with ℓ ≤ L̃_i in the order of ℓ/L̃_i, then of ℓ, then of the tasks' ranks
// (paper, Section 3.3). Since ℓ/L̃ rises within a task, a task's continuations
// are submitted in order, and the queue need hold no more of a task than the
// next one.
type speculation struct {
	partial  *neyman.Partial
	work     *neyman.Work // for snapshots alone: they are solved beside the rest
	observed int          // pilot rewards in the latest snapshot
	version  int          // of the latest snapshot
	inForce  int          // version in force
	incoming *Provisional // in force, but not yet in the queue
	queue    candidates
}

// begin puts the prior's allocation in force: without any reward every task has
// the same score, and so the same share of the C = N(b − m) continuations.
func (s *speculation) begin(c *Controller) {
	s.partial, s.work = c.Prior.Partial(c.Pilots), c.Prior.NewWork()
	s.queue.fill(c, slices.Repeat([]int{c.Budget - c.Pilots}, c.Tasks))
}

// next takes the first of the queue.
func (s *speculation) next(c *Controller) (ID, bool) {
	if s.incoming != nil {
		s.queue.fill(c, s.incoming.allocation())
		s.incoming = nil
	}
	if len(s.queue) == 0 {
		return ID{}, false
	}
	first := &s.queue[0]
	id := ID{first.task, Continuation, first.ordinal}
	first.ordinal++
	if int(first.ordinal) > int(first.share) {
		heap.Pop(&s.queue)
	} else {
		heap.Fix(&s.queue, 0)
	}
	return id, true
}

// Provisional is an allocation of all continuations by the pilot rewards that
// are there so far.
type Provisional struct {
	version             int
	observed, successes []int // by task
	partial             *neyman.Partial
	work                *neyman.Work
	total               int

	solved []int
}

// Snapshot takes the pilot rewards so far, for a provisional allocation. It is
// nil if there are none since the last one, or if nothing more can come of
// them: after the barrier, and under the other policies. Allocations that are
// solved at the same time must not be of one controller.
func (c *Controller) Snapshot() *Provisional {
	s := &c.spec
	known := c.Tasks*c.Pilots - c.missing
	if c.Policy != Async || c.allocation != nil || known == s.observed {
		return nil
	}
	s.observed = known
	s.version++
	counts := make([]int, 2*c.Tasks)
	p := &Provisional{
		version: s.version, observed: counts[:c.Tasks], successes: counts[c.Tasks:],
		partial: s.partial, work: s.work, total: c.total,
	}
	for i := range c.tasks {
		p.observed[i], p.successes[i] = int(c.tasks[i].observed), int(c.tasks[i].successes)
	}
	return p
}

// Stale reports whether pilot rewards have come since the snapshot was taken.
func (c *Controller) Stale(p *Provisional) bool {
	return p.version < c.spec.version || c.Tasks*c.Pilots-c.missing > c.spec.observed
}

// Solve works the allocation out, unless that has been done. It may run beside
// the controller's other methods, but not beside Apply or Next of the same
// Provisional.
func (p *Provisional) Solve() { p.allocation() }

func (p *Provisional) allocation() []int {
	if p.solved == nil {
		scores := make([]float64, len(p.observed))
		p.partial.Scores(p.observed, p.successes, p.work, scores)
		solved, err := neyman.Allocate(scores, p.total)
		if err != nil {
			panic(err) // scores are positive, and there is a continuation for each task
		}
		p.solved = solved
	}
	return p.solved
}

// Apply puts a provisional allocation in force and reports whether it did: not
// after the barrier, and not one that is older than the one in force. It
// changes what is submitted next, and nothing that runs.
func (c *Controller) Apply(p *Provisional) bool {
	if c.allocation != nil || p.version <= c.spec.inForce {
		return false
	}
	c.spec.inForce, c.spec.incoming = p.version, p
	return true
}

// candidate is the next continuation of a task.
type candidate struct {
	task, ordinal int32
	share         int32 // L̃ of the task
	rank          int32
}

// candidates is a heap with the continuation of the least ℓ/L̃ on top.
type candidates []candidate

// fill makes the queue of an allocation, past what has been submitted.
func (q *candidates) fill(c *Controller, allocation []int) {
	*q = (*q)[:0]
	for i := range c.tasks {
		next := int32(len(c.tasks[i].continuations) + 1)
		if int(next) > allocation[i] {
			continue
		}
		rank := int32(i)
		if c.Order != nil {
			rank = int32(c.Order[i])
		}
		*q = append(*q, candidate{task: int32(i), ordinal: next, share: int32(allocation[i]), rank: rank})
	}
	heap.Init(q)
}

// Less compares ℓ/L̃ exactly, by cross-multiplication.
func (q candidates) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(
		cmp.Compare(int64(a.ordinal)*int64(b.share), int64(b.ordinal)*int64(a.share)),
		cmp.Compare(a.ordinal, b.ordinal),
		cmp.Compare(a.rank, b.rank),
	) < 0
}

// Len is the number of tasks in the queue.
func (q candidates) Len() int { return len(q) }

// Swap exchanges two tasks of the queue.
func (q candidates) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is never used: the queue is filled at once.
func (q *candidates) Push(any) { panic("controller: a candidate is pushed") }

// Pop drops the last.
func (q *candidates) Pop() any { *q = (*q)[:len(*q)-1]; return nil }
