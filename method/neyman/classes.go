package neyman

import "math"

// Classes is a group of tasks by equal score: the form in which an allocation
// is cheap, because a pilot of size m tells at most m+1 kinds of task apart.
// The zero value is empty and ready for Add. It keeps its memory between uses.
type Classes struct {
	Least int // rollouts that every task gets whatever its score; 0: 1

	counts []float64 // tasks in the class
	scores []float64 // v > 0, in any common unit
	roots  []float64 // √v
	units  []int     // L, the rollouts that each task of the class has got
	weight float64   // Σ n√v
	tasks  int       // Σ n, with the tasks of score zero
	zeros  int       // tasks of score zero
}

// Reset empties the group.
func (c *Classes) Reset() {
	c.counts, c.scores, c.roots = c.counts[:0], c.scores[:0], c.roots[:0]
	c.weight, c.tasks, c.zeros = 0, 0, 0
}

// Add puts count tasks with the given score, not negative, into the group as a
// class of its own and returns the class's number, or −1 for score zero. The
// classes need not have different scores.
func (c *Classes) Add(count int, score float64) int {
	return c.AddRoot(count, score, math.Sqrt(score))
}

// AddRoot is Add for a caller that has the square root of the score at hand.
func (c *Classes) AddRoot(count int, score, root float64) int {
	c.tasks += count
	if score <= 0 {
		c.zeros += count
		return -1
	}
	n := float64(count)
	c.counts = append(c.counts, n)
	c.scores = append(c.scores, score)
	c.roots = append(c.roots, root)
	c.weight += n * root
	return len(c.counts) - 1
}

// Units returns the rollouts of each task of a class after Solve. Tasks of
// score zero have Least, unless every score is zero.
func (c *Classes) Units(class int) int { return c.units[class] }

// Solve gives every task Least rollouts and then spends the others of total where
// they reduce Σ v/L most: the exact integer optimum (paper, Eq. 8, where Least is 1).
// It returns the class that did not get its last round in full and the number
// of its tasks, fewer than its size, that have one rollout more than Units
// says; extra is zero when the rounds came out even. The total must be at
// least Least for every task, and at least one score positive.
//
// A class takes its L-th further rollout where the gain v/[L(L+1)] exceeds a
// common threshold λ; with t = 1/√λ that is L(L+1) ≤ t²v, so L is t√v rounded
// up from the geometric mean of its neighbours (Huntington and Hill's rule). A
// guess of t gives all L at once; marginal gains correct the rest.
func (c *Classes) Solve(total int) (class, extra int) {
	if cap(c.units) < len(c.counts) {
		c.units = make([]int, 2*len(c.counts))
	}
	c.units = c.units[:len(c.counts)]
	left := c.round(total - c.zeros*c.least())
	if left >= 0 {
		return c.spend(left)
	}
	return c.takeBack(-left)
}

// least is the least number of rollouts of a task.
func (c *Classes) least() int { return max(1, c.Least) }

// round sets the units by the rule above for a guess of t, improved while that
// pays, and returns the rollouts that are then left, negative if overspent.
func (c *Classes) round(total int) (left int) {
	goal := float64(total)
	t, weight := goal/c.weight, 0.0
	for range 2 {
		left, weight = c.roundAt(t, total)
		if weight == 0 || math.Abs(float64(left)) < 5 {
			break
		}
		t += float64(left) / weight
	}
	return left
}

// roundAt sets the units for the threshold 1/t² and returns the rollouts left
// of total with the weight of the classes that have more than the least.
func (c *Classes) roundAt(t float64, total int) (left int, weight float64) {
	used, least := 0, c.least()
	counts, roots := c.counts, c.roots[:len(c.counts)]
	units := c.units[:len(c.counts)]
	for i, n := range counts {
		y := t * roots[i]
		l := int(y)
		if y*y >= float64(l*(l+1)) {
			l++
		}
		if l < least {
			l = least
		}
		units[i] = l
		used += int(n) * l
		if l > least {
			weight += n * roots[i]
		}
	}
	return total - used, weight
}

// spend hands out what is left, class by class in the order of their gains.
func (c *Classes) spend(left int) (class, extra int) {
	for left > 0 {
		best, gain := 0, 0.0
		for i, v := range c.scores {
			l := c.units[i]
			if g := v / float64(l*(l+1)); g > gain {
				best, gain = i, g
			}
		}
		n := int(c.counts[best])
		if left < n {
			return best, left
		}
		left -= n
		c.units[best]++
	}
	return 0, 0
}

// takeBack collects what was overspent, class by class from the least gain up.
func (c *Classes) takeBack(over int) (class, extra int) {
	least := c.least()
	for over > 0 {
		worst, loss := 0, math.Inf(1)
		for i, v := range c.scores {
			l := c.units[i]
			if l == least {
				continue
			}
			if g := v / float64(l*(l-1)); g < loss {
				worst, loss = i, g
			}
		}
		c.units[worst]--
		n := int(c.counts[worst])
		if over < n {
			return worst, n - over
		}
		over -= n
	}
	return 0, 0
}

// Value solves for total and returns Σ v/L over the tasks at the optimum, which
// does not depend on how ties are broken.
func (c *Classes) Value(total int) float64 {
	class, extra := c.Solve(total)
	sum := 0.0
	for i, v := range c.scores {
		sum += c.counts[i] * v / float64(c.units[i])
	}
	l := c.units[class]
	return sum - float64(extra)*c.scores[class]/float64(l*(l+1))
}

// Settle solves for total and puts the last round into a form that does not
// depend on the order of classes: of the tasks in all classes whose next
// rollout has the given gain, extra have one rollout more than Units says. It
// is for callers that break ties by task. Extra is zero when nothing is tied.
func (c *Classes) Settle(total int) (gain float64, extra int) {
	class, extra := c.Solve(total)
	if extra > 0 {
		gain = c.Gain(class)
	} else {
		for i := range c.units {
			gain = max(gain, c.Gain(i))
		}
	}
	for i, v := range c.scores {
		if l := c.units[i]; l > c.least() && v/float64(l*(l-1)) == gain {
			c.units[i]--
			extra += int(c.counts[i])
		}
	}
	return gain, extra
}

// Gain returns the marginal gain v/[L(L+1)] of the next rollout of a class.
func (c *Classes) Gain(class int) float64 {
	l := c.units[class]
	return c.scores[class] / float64(l*(l+1))
}
