package informed

import "math"

// taskGroups is the groups of tasks that a source cannot distinguish: those on one
// level with as many rollouts and passes. Every update refines them.
type taskGroups struct {
	of    []int32 // group of each task
	list  []taskGroup
	fresh []int32 // groups with further rollouts, in the order of their first tasks
	free  []int32 // groups without tasks
}

// taskGroup is one of them.
type taskGroup struct {
	level            int32
	rollouts, passes int32 // observed
	more, passed     int32 // further rollouts, while they are taken in

	tasks int32
	score float64
	from  int32 // the group that it was before
}

// ready makes a group of each level, if nothing has been observed.
func (c *taskGroups) ready(level []int32, levels int) {
	if len(c.list) > 0 {
		return
	}
	c.free = c.free[:0]
	for k := range levels {
		c.list = append(c.list, taskGroup{level: int32(k)})
	}
	copy(c.of, level)
	for _, k := range level {
		c.list[k].tasks++
	}
}

// newTable makes a hash table for the groups of the tasks: numbers + 1, 0 where it is free.
func newTable(tasks int) []int32 {
	size := 16
	for size < 4*tasks {
		size *= 2
	}
	return make([]int32, size)
}

// refine takes the tasks with further rollouts out of their groups, into groups of their own.
func (c *taskGroups) refine(tasks []int32, rollouts, passes []int, table []int32) {
	clear(table)
	c.fresh = c.fresh[:0]
	mask := uint64(len(table) - 1)
	for _, i := range tasks {
		from, more, passed := c.of[i], int32(rollouts[i]), int32(passes[i])
		key := (uint64(from)<<40 ^ uint64(more)<<20 ^ uint64(passed)) * 0x9e3779b97f4a7c15
		for at := key >> 32 & mask; ; at = (at + 1) & mask {
			number := table[at] - 1
			if number < 0 {
				number = c.split(from, more, passed)
				table[at] = number + 1
			}
			if x := &c.list[number]; x.from == from && x.more == more && x.passed == passed {
				x.tasks++
				c.of[i] = number
				break
			}
		}
		if c.list[from].tasks--; c.list[from].tasks == 0 {
			c.free = append(c.free, from)
		}
	}
}

// split begins a group of tasks with further rollouts, and returns its number.
func (c *taskGroups) split(from, more, passed int32) (number int32) {
	x := taskGroup{level: c.list[from].level, rollouts: c.list[from].rollouts, passes: c.list[from].passes, more: more, passed: passed, from: from}
	if last := len(c.free) - 1; last >= 0 {
		number, c.free = c.free[last], c.free[:last]
		c.list[number] = x
	} else {
		number = int32(len(c.list))
		c.list = append(c.list, x)
	}
	c.fresh = append(c.fresh, number)
	return number
}

// settle takes the further rollouts in.
func (c *taskGroups) settle() {
	for _, k := range c.fresh {
		x := &c.list[k]
		x.rollouts, x.passes = x.rollouts+x.more, x.passes+x.passed
	}
}

// shapes are the shapes of the tasks on a level under every node, before any rollout.
func (s *source) shapes(level int32) (alpha, beta []float64) {
	at := int(level)
	if s.steps != nil {
		at = s.steps[level]
	}
	from, to := at*s.nodes, (at+1)*s.nodes
	return s.alpha[from:to], s.beta[from:to]
}

// observe adds to the log weights of nodes the log likelihood of the further rollouts, given
// those before: of a task Π(α+s) over the passes, times Π(β+f) over the failures, over
// Π(α+β+n) over both.
func (b *belief) observe() {
	b.sums, b.products = b.sums[:0], b.products[:0]
	for range b.alive {
		b.sums, b.products = append(b.sums, 0), append(b.products, 1)
	}
	sums, products := b.sums, b.products[:len(b.sums)]
	for _, k := range b.fresh {
		x := &b.list[k]
		passed, failed := int(x.passed), int(x.more-x.passed)
		passes, failures := float64(x.passes), float64(x.rollouts-x.passes)
		alphas, betas := b.shapes(x.level)
		for j, node := range b.alive {
			alpha, beta := alphas[node]+passes, betas[node]+failures
			if x.tasks > mostFactors || !fits(alpha+beta, x.more) {
				sums[j] += float64(x.tasks) * logOdds(alpha, beta, passed, failed)
				continue
			}
			ratio, product := odds(alpha, beta, passed, failed), products[j]
			for range x.tasks {
				if product *= ratio; product < smallest {
					sums[j] += math.Log(product)
					product = 1
				}
			}
			products[j] = product
		}
	}
	for j, node := range b.alive {
		b.weight[node] += sums[j] + math.Log(products[j])
	}
}

// score sets the scores of the groups, E[p(1−p)], by the nodes on the given scale.
func (b *belief) score(scale scale) {
	b.sums = b.sums[:0]
	for _, node := range b.alive {
		b.sums = append(b.sums, scale.weight(b.weight[node]))
	}
	weights := b.sums
	for k := range b.list {
		x := &b.list[k]
		if x.tasks == 0 {
			continue
		}
		passes, failures, sum := float64(x.passes), float64(x.rollouts-x.passes), 0.0
		alphas, betas := b.shapes(x.level)
		for j, node := range b.alive {
			alpha, beta := alphas[node]+passes, betas[node]+failures
			all := alpha + beta
			sum += weights[j] * alpha * beta / (all * (all + 1))
		}
		x.score = sum
	}
}

// mostFactors is how many are multiplied sooner than looked up in the gamma
// function, unless they are above largest: their product does not overflow. Where a
// product falls below smallest its logarithm is taken.
const (
	mostFactors = 60
	largest     = 1e4
	smallest    = 1e-100
)

// fits reports whether odds can be multiplied out.
func fits(concentration float64, rollouts int32) bool {
	return rollouts <= mostFactors && concentration < largest
}

// odds is B(a+passed, b+failed)/B(a, b), for few rollouts.
func odds(a, b float64, passed, failed int) float64 {
	above, below, all := 1.0, 1.0, a+b
	for range passed {
		above *= a
		below *= all
		a++
		all++
	}
	for range failed {
		above *= b
		below *= all
		b++
		all++
	}
	return above / below
}

// logOdds is the logarithm of odds, for any number of rollouts.
func logOdds(a, b float64, passed, failed int) float64 {
	if fits(a+b, int32(passed+failed)) {
		return math.Log(odds(a, b, passed, failed))
	}
	return logBeta(a, b, float64(passed), float64(failed))
}
