package sweep

import (
	"speceval/internal/pilot"
	"speceval/method/neyman"
)

// Scores sets the scores of a pilot: scores[S] of the tasks with S successes,
// where counts[S] tasks have so many, for S = 0, …, m. Those of no task are not
// looked at. The others must be positive.
type Scores func(counts []int, scores []float64)

// Counted values the continuation allocations of scores that depend on a task's
// successes and on the successes of all tasks, as HBN's do, on the draws of a
// sweep.
type Counted struct {
	rule Scores

	counts    []int     // tasks by pilot successes
	scores    []float64 // by pilot successes
	masses    []float64 // Σ p(1−p) by pilot successes
	of        *Sweep    // whose draws it values
	successes []uint16  // by task
	classes   neyman.Classes
	label     []int     // pilot successes of each class
	drops     []float64 // by pilot successes: what a tied task's next rollout saves
}

// NewCounted returns the continuation of some scores at pilot size m.
func NewCounted(m int, scores Scores) *Counted {
	return &Counted{
		rule:   scores,
		counts: make([]int, m+1),
		scores: make([]float64, m+1),
		masses: make([]float64, m+1),
		drops:  make([]float64, m+1),
	}
}

// Value returns Σ p(1−p)/L over the tasks for the allocation of budget − m
// continuation rollouts a task after the pilot of a draw. Ties go to the tasks
// first in order.
func (c *Counted) Value(sw *Sweep, draw, budget int) float64 {
	c.observe(sw, draw)
	c.rule(c.counts, c.scores)
	c.classes.Reset()
	c.label = c.label[:0]
	for s, n := range c.counts {
		if n != 0 {
			c.classes.Add(n, c.scores[s])
			c.label = append(c.label, s)
		}
	}
	gain, extra := c.classes.Settle(len(sw.variances) * (budget - sw.m))
	sum := 0.0
	for class, s := range c.label {
		l := float64(c.classes.Units(class))
		sum += c.masses[s] / l
		if c.classes.Gain(class) == gain {
			c.drops[s] = 1 / (l * (l + 1))
		}
	}
	sum -= savings(extra, c.drops, c.successes, sw.variances)
	clear(c.drops)
	return sum
}

// observe counts the pilot successes of a draw.
func (c *Counted) observe(sw *Sweep, draw int) {
	if c.of != sw {
		c.of = sw
		c.successes = make([]uint16, len(sw.variances))
		for _, task := range sw.passing {
			c.successes[task] = uint16(sw.m)
		}
	}
	clear(c.counts)
	clear(c.masses)
	c.counts[0], c.counts[sw.m] = len(sw.failing), len(sw.passing)
	for u, task := range sw.uncertain {
		s := pilot.Successes(sw.path(draw, u), sw.m)
		c.successes[task] = uint16(s)
		c.counts[s]++
		c.masses[s] += sw.variances[task]
	}
}
