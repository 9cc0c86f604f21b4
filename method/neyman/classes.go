package neyman

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"
)

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

// grow puts one more task into a class, −1 for score zero.
func (c *Classes) grow(class int) {
	c.tasks++
	if class < 0 {
		c.zeros++
		return
	}
	c.counts[class]++
	c.weight += c.roots[class]
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

// Sum is a number that follows from the probabilities of all tasks: Σ P·p + V·p(1−p),
// with coefficients by task. nil stands for zeros.
type Sum struct{ P, V []float64 }

// ignored is a share of the hyperposterior that no expectation would miss.
const ignored = 1e-12

// Joint returns the expectations of some sums and their covariances.
func (m Mixture) Joint(sums ...Sum) (means []float64, covariances [][]float64) {
	means, covariances = make([]float64, len(sums)), make([][]float64, len(sums))
	for j := range sums {
		covariances[j] = make([]float64, len(sums))
	}
	var nodes []int
	var given [][]float64 // expectations of the sums given each node
	for k, weight := range m.Weights {
		if weight < ignored {
			continue
		}
		own := make([]float64, len(sums))
		for i := range m.Tasks {
			a, b := m.Shapes(k, i)
			beta{a, b}.addMoments(i, weight, sums, own, covariances)
		}
		for j := range sums {
			means[j] += weight * own[j]
		}
		nodes, given = append(nodes, k), append(given, own)
	}
	for at, k := range nodes {
		for j := range sums {
			for l := range sums {
				covariances[j][l] += m.Weights[k] * (given[at][j] - means[j]) * (given[at][l] - means[l])
			}
		}
	}
	return means, covariances
}

// Variances are the expected variances of a rollout of each task, E[p(1−p)].
func (m Mixture) Variances() []float64 {
	all := make([]float64, m.Tasks)
	for k, weight := range m.Weights {
		if weight < ignored {
			continue
		}
		for i := range all {
			a, b := m.Shapes(k, i)
			all[i] += weight * a * b / ((a + b) * (a + b + 1))
		}
	}
	return all
}

// at is the coefficients of a task.
func (s Sum) at(task int) (p, v float64) {
	if s.P != nil {
		p = s.P[task]
	}
	if s.V != nil {
		v = s.V[task]
	}
	return p, v
}

// beta is the law Beta(a, b) of a p.
type beta struct{ a, b float64 }

// addMoments adds a task that has the law to the expectations of sums, and, times a weight, to
// their covariances.
func (d beta) addMoments(task int, weight float64, sums []Sum, means []float64, covariances [][]float64) {
	p, v, pp, pv, vv := d.moments()
	for j, s := range sums {
		sp, sv := s.at(task)
		means[j] += sp*p + sv*v
		for l, t := range sums {
			tp, tv := t.at(task)
			covariances[j][l] += weight * (sp*tp*pp + (sp*tv+sv*tp)*pv + sv*tv*vv)
		}
	}
}

// moments are the expectations of p and of v = p(1−p), the variance of p, the covariance
// of p and v, and the variance of v.
func (d beta) moments() (p, v, pp, pv, vv float64) {
	a, b, t := d.a, d.b, d.a+d.b
	p, v = a/t, a*b/(t*(t+1))
	return p, v, v / t, v * (b - a) / (t * (t + 2)), v * ((a+1)*(b+1)/((t+2)*(t+3)) - v)
}

// Powers are the posterior expectations of the powers of a task's p, from p^0 to p^most.
func (u *Update) Powers(task, most int) []float64 {
	n, s := float64(u.observed[task]), u.successes[task]
	powers := make([]float64, most+1)
	for k, weight := range u.weights {
		a, all := u.prior.a[k]+s, u.prior.a[k]+u.prior.b[k]+n
		for d := range powers {
			powers[d] += weight
			weight *= a / all
			a++
			all++
		}
	}
	return powers
}

// Partial is the update of the prior by rollouts whose number may differ by task: Eq. 13 of
// the paper, with n_i rollouts of task i in the place of m. Its tables grow with the largest
// number of rollouts that has been asked for. A Partial is safe for concurrent use, each
// goroutine with a Work of its own.
type Partial struct {
	prior *Prior

	mu      sync.Mutex
	pilots  *Pilots        // of up to that number, and more
	moments [][3][]float64 // by number of rollouts: the score's coefficients of 1, S and −S²
}

// Partial returns the update by rollouts, with tables for up to longest of a task. They
// grow as Scores needs it.
func (p *Prior) Partial(longest int) *Partial {
	partial := &Partial{prior: p}
	partial.upTo(longest)
	return partial
}

// upTo returns the tables of up to longest rollouts.
func (p *Partial) upTo(longest int) (*Pilots, [][3][]float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pilots == nil || longest >= len(p.pilots.all) {
		p.pilots = p.prior.Pilots(2 * longest)
	}
	for n := len(p.moments); n <= longest; n++ {
		var post Posterior
		post.setMoments(p.prior, n)
		p.moments = append(p.moments, post.moments)
	}
	return p.pilots, p.moments
}

// Scores writes into scores the posterior expectation of p(1−p) of every task, given that
// successes[i] of observed[i] rollouts of task i passed. Tasks with the same counts get the
// same bits. With complete pilots these are the scores of Posterior up to rounding.
func (p *Partial) Scores(observed, successes []int, w *Work, scores []float64) {
	longest := 0
	for _, n := range observed {
		longest = max(longest, n)
	}
	pilots, moments := p.upTo(longest)
	w.counts = sized(w.counts, 3*(longest+1))
	clear(w.counts)
	passed, failed, all := w.counts[:longest+1], w.counts[longest+1:2*(longest+1)], w.counts[2*(longest+1):]
	for i, n := range observed {
		passed[successes[i]]++
		failed[n-successes[i]]++
		all[n]--
	}
	// The weights of the hyperposterior: the marginal likelihoods of all tasks are rising
	// factorials of ξκ, (1−ξ)κ and κ, here with the number of tasks that have each.
	copy(w.log, p.prior.log)
	for s := 1; s <= longest; s++ {
		for _, term := range [...]struct {
			count float64
			row   []float64
		}{{passed[s], pilots.successes[s]}, {failed[s], pilots.failures[s]}, {all[s], pilots.all[s]}} {
			if term.count != 0 {
				floats.AddScaled(w.log, term.count, term.row)
			}
		}
	}
	exponentiate(w.weights, w.log)
	floats.Scale(1/floats.Sum(w.weights), w.weights)
	w.scores = sized(w.scores, longest+1)
	for n, count := range all {
		if count != 0 {
			m := &moments[n]
			w.scores[n] = Scores{floats.Dot(w.weights, m[0]), floats.Dot(w.weights, m[1]), floats.Dot(w.weights, m[2])}
		}
	}
	for i, n := range observed {
		scores[i] = w.scores[n].At(successes[i])
	}
}
