package controller

import (
	"cmp"
	"container/heap"
	"slices"

	"speceval/method/staged"
)

// speculation is HBN-async's queue of continuations beyond the stage under way: all
// (i, ℓ) with ℓ ≤ L̃_i in the order of ℓ/L̃_i, then of ℓ, then of the tasks' ranks
// (paper, Section 3.3), where ℓ counts from what is selected already and L̃ divides all
// that is left. Since ℓ/L̃ rises within a task, a task's continuations are submitted in
// order, and the queue need hold no more of a task than the next one.
type speculation struct {
	posterior Posterior     // for snapshots alone: they are solved beside the rest
	ahead     *staged.Ahead // of the stage under way
	observed  int           // rewards in the latest snapshot or decision
	version   int           // of the latest snapshot
	inForce   int           // version in force
	incoming  *Provisional  // in force, but not yet in the queue
	queue     candidates
}

// enter puts in force what the stage that has been decided leaves of its shares, from
// what was known then. In the pilot that is the same for all tasks. Snapshots of the
// stage before are of no use any more.
func (s *speculation) enter(c *Controller) {
	left := slices.Clone(c.stages.Shares())
	for i, n := range c.stages.Sizes() {
		left[i] -= n
	}
	s.ahead, s.observed, s.inForce = c.stages.Ahead(), c.known, s.version
	s.incoming = &Provisional{solved: left, done: true}
}

// next takes the first of the queue.
func (s *speculation) next(c *Controller) (ID, bool) {
	if s.incoming != nil {
		if allocation := s.incoming.allocation(); allocation != nil {
			s.queue.fill(c, allocation)
		}
		s.incoming = nil
	}
	if len(s.queue) == 0 {
		return ID{}, false
	}
	first := &s.queue[0]
	id := ID{first.task, Continuation, int32(c.selected[first.task]) + first.ordinal}
	first.ordinal++
	if int(first.ordinal) > int(first.share) {
		heap.Pop(&s.queue)
	} else {
		heap.Fix(&s.queue, 0)
	}
	return id, true
}

// Provisional is an allocation of all continuations that the stage under way leaves,
// by the rewards of selected rollouts that are there so far.
type Provisional struct {
	version   int
	counts    counts
	posterior Posterior
	ahead     *staged.Ahead

	done   bool
	solved []int // nil if the prior gave what is no score
}

// Snapshot takes the rewards of selected rollouts so far, for a provisional
// allocation. It is nil if there are none since the last one or the last decision, or
// if nothing more can come of them: after the last decision, and under the other
// policies. Allocations that are solved at the same time must not be of one
// controller.
func (c *Controller) Snapshot() *Provisional {
	s := &c.spec
	if c.Policy != Async || c.final || c.known == s.observed {
		return nil
	}
	s.observed = c.known
	s.version++
	return &Provisional{version: s.version, counts: c.counts.clone(), posterior: s.posterior, ahead: s.ahead}
}

// Stale reports whether rewards have come since the snapshot was taken.
func (c *Controller) Stale(p *Provisional) bool {
	return p.version < c.spec.version || c.known > c.spec.observed
}

// Solve works the allocation out, unless that has been done. It may run beside
// the controller's other methods, but not beside Apply or Next of the same
// Provisional.
func (p *Provisional) Solve() { p.allocation() }

func (p *Provisional) allocation() []int {
	if p.done {
		return p.solved
	}
	p.done = true
	scores, shares := make([]float64, len(p.counts.all)), make([]int, len(p.counts.all))
	p.counts.score(p.posterior, scores)
	if p.ahead.Divide(scores, shares) == nil { // else the barrier meets the same, and says so
		p.solved = shares
	}
	return p.solved
}

// Apply puts a provisional allocation in force and reports whether it did: not
// after the last decision or one that the snapshot was taken before, and not one
// that is older than the one in force. It changes what is submitted next, and
// nothing that runs or is decided.
func (c *Controller) Apply(p *Provisional) bool {
	if c.final || p.version <= c.spec.inForce {
		return false
	}
	c.spec.inForce, c.spec.incoming = p.version, p
	return true
}

// candidate is the next continuation of a task.
type candidate struct {
	task, ordinal int32 // ℓ, from what is selected already
	share         int32 // L̃ of the task
	rank          int32
}

// candidates is a heap with the continuation of the least ℓ/L̃ on top.
type candidates []candidate

// fill makes the queue of an allocation, past what has been submitted.
func (q *candidates) fill(c *Controller, allocation []int) {
	*q = (*q)[:0]
	for i := range c.tasks {
		next := int32(len(c.tasks[i].continuations) - c.selected[i] + 1)
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
