package neyman

import "math"

// spendByQueue is spend for many classes.
func (c *Classes) spendByQueue(left int) (class, extra int) {
	q := c.queueBy(c.Gain)
	for left > 0 {
		best := q.classes[0]
		n := int(c.counts[best])
		if left < n {
			return best, left
		}
		left -= n
		c.units[best]++
		q.change(c.Gain(best))
	}
	return 0, 0
}

// takeBackByQueue is takeBack for many classes.
func (c *Classes) takeBackByQueue(over int) (class, extra int) {
	least := c.least()
	loss := func(class int) float64 { // the smallest one comes first
		if l := c.units[class]; l > least {
			return -c.scores[class] / float64(l*(l-1))
		}
		return math.Inf(-1)
	}
	q := c.queueBy(loss)
	for over > 0 {
		worst := q.classes[0]
		c.units[worst]--
		n := int(c.counts[worst])
		if over < n {
			return worst, n - over
		}
		over -= n
		q.change(loss(worst))
	}
	return 0, 0
}

// queue is a heap of all classes, the one with the greatest key first, of equal ones the one
// with the lowest number.
type queue struct {
	classes []int
	keys    []float64 // by place in the heap
}

// queueBy is the classes by their keys.
func (c *Classes) queueBy(key func(class int) float64) *queue {
	q := &c.queue
	q.classes, q.keys = q.classes[:0], q.keys[:0]
	for i := range c.scores {
		q.classes, q.keys = append(q.classes, i), append(q.keys, key(i))
	}
	for at := len(q.keys)/2 - 1; at >= 0; at-- {
		q.sink(at)
	}
	return q
}

// change gives the first class another key.
func (q *queue) change(key float64) {
	q.keys[0] = key
	q.sink(0)
}

// sink puts what is at a place below all that come before it.
func (q *queue) sink(at int) {
	class, key := q.classes[at], q.keys[at]
	for {
		next := 2*at + 1
		if next >= len(q.keys) {
			break
		}
		if right := next + 1; right < len(q.keys) && q.before(right, q.keys[next], q.classes[next]) {
			next = right
		}
		if !q.before(next, key, class) {
			break
		}
		q.classes[at], q.keys[at] = q.classes[next], q.keys[next]
		at = next
	}
	q.classes[at], q.keys[at] = class, key
}

// before reports whether what is at a place comes before a class with a key.
func (q *queue) before(at int, key float64, class int) bool {
	return q.keys[at] > key || q.keys[at] == key && q.classes[at] < class
}
