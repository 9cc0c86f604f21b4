package controller

import (
	"math"

	"speceval/method/staged"
)

// Past is an evaluation that is complete: its estimates, and the rollouts that they are
// of.
type Past struct {
	staged.Past
	Counts []Count // by task
}

// Rollouts is how many it has in all.
func (p *Past) Rollouts() (n int) {
	for _, c := range p.Counts {
		n += c.Rollouts
	}
	return n
}

// Count is the selected rollouts of one task whose rewards are there.
type Count struct {
	Rollouts int
	Rewards  float64 // the sum of their rewards, each from 0 to 1
	Squares  float64 // the sum of their squares
}

func (c *Count) add(reward float64) {
	c.Rollouts++
	c.Rewards += reward
	c.Squares += reward * reward
}

// spread is the sum of squares about the mean.
func (c Count) spread() float64 { return c.Squares - c.Rewards*c.Rewards/float64(c.Rollouts) }

// counts are those of all tasks, as a prior takes them: of graded rewards, passes are
// the nearest whole number to their sum.
type counts struct {
	all                 []Count
	observed, successes []int
}

func newCounts(tasks int) counts {
	numbers := make([]int, 2*tasks)
	return counts{make([]Count, tasks), numbers[:tasks], numbers[tasks:]}
}

func (c *counts) add(task int, reward float64) {
	n := c.all[task]
	n.add(reward)
	c.set(task, n)
}

func (c *counts) set(task int, to Count) {
	c.all[task], c.observed[task], c.successes[task] = to, to.Rollouts, int(math.Round(to.Rewards))
}

func (c *counts) clone() counts {
	copied := newCounts(len(c.all))
	copy(copied.all, c.all)
	copy(copied.observed, c.observed)
	copy(copied.successes, c.successes)
	return copied
}

// trust is how many rollouts of a task the spread of all tasks' rewards counts for,
// beside the task's own.
const trust = 4

// score writes the expected variance of a rollout's reward of every task into scores:
// E[p(1−p)] by the posterior where rewards are 0 and 1. Graded rewards vary less than
// those of that mean. By how much is taken from all tasks' rollouts, and from the task's
// own as there come to be more of them.
func (c *counts) score(posterior Posterior, scores []float64) {
	posterior.Scores(c.observed, c.successes, scores)
	graded := false
	var seen, binary float64
	for i, n := range c.all {
		graded = graded || n.Squares != n.Rewards
		if n.Rollouts > 1 {
			seen += n.spread()
			binary += float64(n.Rollouts-1) * scores[i]
		}
	}
	if !graded || binary == 0 {
		return
	}
	share := min(1, max(seen, 1e-6*binary)/binary)
	for i, n := range c.all {
		own := 0.0
		if n.Rollouts > 1 {
			own = max(0, n.spread())
		}
		scores[i] = (trust*share*scores[i] + own) / (trust + float64(max(0, n.Rollouts-1)))
	}
}
