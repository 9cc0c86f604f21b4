package controller

import "slices"

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
			sum.add(r.reward)
			c.settled[i].add(r.reward)
		}
		c.rewards[i] = sum.Rewards
		c.counts.set(i, c.settled[i])
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

// enter selects the rollouts of the stage that has been decided, by their ids alone:
// the next continuations of each task. When they completed, and which others did,
// does not matter; of those that did, the rewards are looked at from here on.
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
	c.counts.add(task, reward)
}

// Stage is the stage under way, from 0, the pilot. Under Uniform there is no other.
func (c *Controller) Stage() int {
	if c.stages == nil {
		return 0
	}
	return c.stages.Stage()
}

// Observed is the stages of which every reward is there, in their order: all of them,
// once Done. Under Uniform there are none.
func (c *Controller) Observed() []Stage { return c.seen }

// Selected reports whether a rollout counts as far as has been decided: all pilots, of
// the continuations those that the stages so far have come to. Others may be selected
// by a later stage, until they are Surplus.
func (c *Controller) Selected(id ID) bool {
	return c.has(id.Task) && (id.Phase == Pilot || int(id.Ordinal) <= c.selected[id.Task])
}

// Surplus reports whether a rollout will not be selected any more. Before the last
// decision none is: what is aborted and asked for again comes back shorter than it
// was.
func (c *Controller) Surplus(id ID) bool { return c.final && !c.Selected(id) }

// Allocation is the number of continuations that each task is given (L), of
// which the sum is N(b − m). It is nil before the last decision.
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
	for i := range c.tasks {
		own := c.total(i).Rewards
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

// Means is the estimates of all tasks, Σ c·X, once Done.
func (c *Controller) Means() []float64 {
	if c.stages != nil {
		return c.stages.Means()
	}
	means := make([]float64, c.Tasks)
	for i := range means {
		means[i] = c.total(i).Rewards / float64(c.Budget)
	}
	return means
}

// total is all rewards of a task under Uniform, added up by ordinal as in settle.
func (c *Controller) total(task int) (sum Count) {
	for _, r := range slices.Concat(c.tasks[task].pilots, c.tasks[task].continuations) {
		sum.add(r.reward)
	}
	return sum
}

// Shrinkage is Σ c²/n of each task over the stages that have been decided, 1/b under
// Uniform: v = p(1−p) times it is the variance of the task's estimate. See package
// staged for how exact that is.
func (c *Controller) Shrinkage() []float64 {
	if c.stages != nil {
		return c.stages.Shrinkage()
	}
	return slices.Repeat([]float64{1 / float64(c.Budget)}, c.Tasks)
}
