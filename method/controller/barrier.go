package controller

import (
	"slices"

	"speceval/method/staged"
)

// Stage is a stage as it was decided before its first rewards were looked at. A task
// that has finished before it has size 0.
type Stage struct {
	Sizes   []int     // rollouts of each task (n)
	Weights []float64 // of each task's mean over them (c)
}

// advance passes every barrier that there is nothing to wait for at: rollouts that the
// next stage selects may all be there already. It reports whether there was one.
func (c *Controller) advance() (released bool, err error) {
	for c.missing == 0 && c.stages != nil {
		c.settle()
		if err := c.stages.ObserveRewards(c.rewards); err != nil {
			return released, err
		}
		c.seen = append(c.seen, Stage{slices.Clone(c.stages.Sizes()), slices.Clone(c.stages.Weights())})
		if c.stages.Done() {
			return released, nil
		}
		if err := c.decide(); err != nil {
			return released, err
		}
		released = true
	}
	return released, nil
}

// settle adds up the rewards of the stage under way by ordinal, whatever the order that
// they came in: sums of graded rewards differ by it in their last bits.
func (c *Controller) settle() {
	for i, t := range c.tasks {
		stage := t.continuations[c.first[i]:c.selected[i]]
		if c.stages.Stage() == 0 {
			stage = t.pilots
		}
		sum := Count{}
		for _, r := range stage {
			sum.addReward(r.reward)
			c.settled[i].addReward(r.reward)
		}
		c.rewards[i] = sum.Rewards
		c.note(i, c.settled[i])
	}
}

// decide begins the next stage, by all rewards of the stages before it.
func (c *Controller) decide() error {
	c.counts.score(c.posterior, c.scores)
	if c.Remaining != nil {
		b := Barrier{c.stages.Barrier(c.scores), c.counts.observed}
		left := max(b.Least, c.Remaining(b))
		if b.Most > 0 {
			left = min(left, b.Most)
		}
		if err := c.stages.Resize(left); err != nil {
			return err
		}
	}
	if err := c.stages.Decide(c.scores); err != nil {
		return err
	}
	c.enter()
	return nil
}

// Drop takes back the stage under way while some of its rewards are missing. Nothing of it
// counts, and the stage before it is the last one ([staged.Stages.Drop]): its rollouts are
// Surplus from then on, and the evaluation is Done. It is an error in the pilot.
func (c *Controller) Drop() error {
	if c.stages == nil || c.missing == 0 {
		return staged.ErrOrder
	}
	if err := c.stages.Drop(); err != nil {
		return err
	}
	c.seen[len(c.seen)-1].Weights = slices.Clone(c.stages.Weights())
	copy(c.selected, c.first)
	c.final, c.missing, c.unsubmitted = true, 0, 0
	return nil
}

// enter selects the rollouts of the stage that has been decided, by their ids alone: the
// next continuations of each task. When they completed, and which others did, does not
// matter; the rewards of completed ones are read from here on.
func (c *Controller) enter() {
	c.final = c.stages.Left() == 0
	if c.Policy == Async && !c.final {
		c.spec.enter(c)
	}
	c.round, c.at, c.unsubmitted = 1, 0, 0
	for i, n := range c.stages.Sizes() {
		first := c.selected[i]
		c.first[i], c.selected[i] = first, first+n
		c.missing += n
		submitted := c.tasks[i].continuations
		c.unsubmitted += max(0, first+n-len(submitted))
		for _, s := range submitted[first:min(first+n, len(submitted))] {
			if s.status == completed {
				c.count(i, s.reward)
			}
		}
	}
}

// count takes note of the reward of a selected rollout.
func (c *Controller) count(task int, reward float64) {
	c.missing--
	c.known++
	to := c.counts.all[task]
	to.addReward(reward)
	c.note(task, to)
}

// note sets the count of a task, and tells the forecast.
func (c *Controller) note(task int, to Count) {
	c.counts.set(task, to)
	if c.Policy == Async && !c.final {
		c.spec.news = append(c.spec.news, news{task, to})
	}
}

// Stage is the stage under way, from 0, the pilot. Under Uniform there is no other.
func (c *Controller) Stage() int {
	if c.stages == nil {
		return 0
	}
	return c.stages.Stage()
}

// Observed returns the stages whose rewards are all there, in their order: all of them, once
// Done. Under Uniform there are none. With the rewards of a task they give its estimate, Σ c·X, and
// Σ c²/n, by which v = p(1−p) is the variance of that (package staged says how exactly).
func (c *Controller) Observed() []Stage { return c.seen }

// Selected reports whether a rollout counts as far as has been decided: all pilots, and the
// continuations of the stages so far. Others may be selected by a later stage, until they
// are Surplus.
func (c *Controller) Selected(id ID) bool {
	return c.has(id.Task) && (id.Phase == Pilot || int(id.Ordinal) <= c.selected[id.Task])
}

// Surplus reports whether a rollout will not be selected any more. Before the last
// decision none is: what is aborted and asked for again comes back shorter than it
// was.
func (c *Controller) Surplus(id ID) bool { return c.final && !c.Selected(id) }

// Allocation is the number of continuations that each task is given (L). Their sum is N(b −
// m). It is nil before the last decision.
func (c *Controller) Allocation() []int {
	if !c.final {
		return nil
	}
	return c.selected
}

// Done reports whether every selected rollout has completed.
func (c *Controller) Done() bool { return c.final && c.missing == 0 }

// Estimate is the benchmark mean by the selected rollouts, once Done: under HBN the
// stages' means with their weights, which is Eq. 3 of the paper for two stages, under
// Uniform the plain mean.
func (c *Controller) Estimate() float64 {
	if c.stages != nil {
		return c.stages.Mean()
	}
	sum, weighted := 0.0, 0.0
	for i, t := range c.tasks {
		own := 0.0 // by ordinal, as in settle
		for _, r := range slices.Concat(t.pilots, t.continuations) {
			own += r.reward
		}
		sum += own
		if c.TaskShares != nil {
			weighted += c.TaskShares[i] * own / float64(c.Budget)
		}
	}
	if c.TaskShares != nil {
		return weighted
	}
	return sum / float64(c.Tasks*c.Budget)
}

// speculation is HBN-async's order of continuations beyond the stage under way: all
// (i, ℓ) with ℓ ≤ L̃_i in the order of ℓ/L̃_i, then of ℓ, then of the tasks' ranks
// (paper, Section 3.3), where ℓ counts from what is selected already and L̃ divides all
// that is left. Since ℓ/L̃ rises within a task, a task's continuations are submitted in
// order, and the first of all is the next one of some task.
type speculation struct {
	forecast *forecast     // for snapshots alone: they are solved concurrently with the rest
	news     []news        // of the counts since the beginning, for the forecast
	ahead    *staged.Ahead // of the stage under way
	observed int           // rewards in the latest snapshot or decision
	version  int           // of the latest snapshot
	inForce  int           // version in force
	incoming *Provisional  // in force, but not yet in shares
	shares   []int         // L̃ of every task
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

// next takes the first, by ℓ/L̃ compared exactly, by cross-multiplication.
func (s *speculation) next(c *Controller) (ID, bool) {
	if s.incoming != nil {
		if allocation := s.incoming.allocation(); allocation != nil {
			s.shares = allocation
		}
		s.incoming = nil
	}
	first, ordinal, share := -1, 0, 0
	for i, most := range s.shares {
		next := len(c.tasks[i].continuations) - c.selected[i] + 1
		if next > most {
			continue
		}
		if before := next*share - ordinal*most; first < 0 || before < 0 || before == 0 && (next < ordinal || next == ordinal && c.rank(i) < c.rank(first)) {
			first, ordinal, share = i, next, most
		}
	}
	if first < 0 {
		return ID{}, false
	}
	return ID{int32(first), Continuation, int32(c.selected[first] + ordinal)}, true
}

// rank is the place of a task where speculation is tied.
func (c *Controller) rank(task int) int {
	if c.Order == nil {
		return task
	}
	return c.Order[task]
}

// Provisional is an allocation of all continuations that the stage under way leaves,
// by the rewards of selected rollouts that are there so far.
type Provisional struct {
	version  int
	news     []news
	forecast *forecast
	ahead    *staged.Ahead

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
	return &Provisional{version: s.version, news: s.news, forecast: s.forecast, ahead: s.ahead}
}

// Stale reports whether rewards have come since the snapshot was taken.
func (c *Controller) Stale(p *Provisional) bool {
	return p.version < c.spec.version || c.known > c.spec.observed
}

// Solve works the allocation out, unless that has been done. It may run
// concurrently with the controller's other methods, but not with Apply or Next of the
// same Provisional.
func (p *Provisional) Solve() { p.allocation() }

func (p *Provisional) allocation() []int {
	if p.done {
		return p.solved
	}
	p.done = true
	shares := make([]int, len(p.forecast.scores))
	if p.ahead.Divide(p.forecast.score(p.news), shares) == nil { // else the barrier meets the same, and says so
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
