package neyman

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// Prior is the reference hierarchical prior on its quadrature grid: the mean ξ
// and the dispersion δ of the task probabilities are independent and uniform
// on (0, 1), and p | ξ, δ ~ Beta(ξκ, (1−ξ)κ) with κ = (1−δ)/δ (paper, Eq. 5).
// A Prior is safe for concurrent use.
type Prior struct {
	order int       // of the quadrature in each of ξ and δ
	a, b  []float64 // ξκ and (1−ξ)κ at every node, ξ slowest
	log   []float64 // log quadrature weight of every node
}

// MeanVariance is E[p(1−p)] under the reference prior: E[ξ(1−ξ)]·E[1−δ].
const MeanVariance = 1.0 / 12

// NewPrior returns the prior on a tensor grid of Gauss–Legendre nodes of the
// given order in each of ξ and δ (paper, appendix on the HBN design: 16).
func NewPrior(order int) (*Prior, error) {
	if order < 1 {
		return nil, fmt.Errorf("quadrature order %d: need at least 1", order)
	}
	nodes, weights := make([]float64, order), make([]float64, order)
	quad.Legendre{}.FixedLocations(nodes, weights, 0, 1)
	p := &Prior{order: order}
	for i, xi := range nodes {
		for j, delta := range nodes {
			kappa := (1 - delta) / delta
			p.a = append(p.a, xi*kappa)
			p.b = append(p.b, (1-xi)*kappa)
			p.log = append(p.log, math.Log(weights[i]*weights[j]))
		}
	}
	return p, nil
}

// Pilots makes the tables of posteriors for pilots of any size up to a longest.
type Pilots struct {
	prior *Prior

	// Logs of rising factorials, [s][node]: of ξκ, (1−ξ)κ and κ.
	successes, failures, all [][]float64
}

// Pilots prepares for pilots of up to longest rollouts per task.
func (p *Prior) Pilots(longest int) *Pilots {
	kappa := make([]float64, len(p.a))
	floats.AddTo(kappa, p.a, p.b)
	return &Pilots{p, rising(p.a, longest), rising(p.b, longest), rising(kappa, longest)}
}

// rising returns the rows log[x(x+1)…(x+s−1)], s = 0, …, last, over the nodes.
func rising(x []float64, last int) [][]float64 {
	rows := make([][]float64, last+1)
	rows[0] = make([]float64, len(x))
	for s := 1; s <= last; s++ {
		rows[s] = make([]float64, len(x))
		for k, v := range x {
			rows[s][k] = rows[s-1][k] + math.Log(v+float64(s-1))
		}
	}
	return rows
}

// Posterior is the update of the prior by pilots of one size. Its tables are
// made once; any number of pilot vectors can then be evaluated, each goroutine
// with a Work of its own. The zero value is ready for Set.
type Posterior struct {
	prior    *Prior
	marginal [][]float64 // [S][node]: log of B(a+S, b+m−S)/B(a, b)
	moments  [3][]float64
}

// Pilot returns the posterior for m pilot rollouts per task.
func (p *Prior) Pilot(m int) *Posterior {
	var post Posterior
	post.Set(p.Pilots(m), m)
	return &post
}

// Set makes post the posterior for m pilot rollouts per task, in the memory
// that it has.
func (post *Posterior) Set(pilots *Pilots, m int) {
	p := pilots.prior
	nodes := len(p.a)
	post.prior = p
	for s := range m + 1 {
		if s == len(post.marginal) {
			post.marginal = append(post.marginal, make([]float64, nodes))
		}
		floats.AddTo(post.marginal[s], pilots.successes[s], pilots.failures[m-s])
		floats.Sub(post.marginal[s], pilots.all[m])
	}
	post.setMoments(p, m)
}

// setMoments sets what the scores of tasks with n pilot rollouts are made of.
func (post *Posterior) setMoments(p *Prior, n int) {
	for i := range post.moments {
		post.moments[i] = sized(post.moments[i], len(p.a))
	}
	observed := float64(n)
	for k, a := range p.a {
		b := p.b[k]
		d := 1 / ((a + b + observed) * (a + b + observed + 1))
		post.moments[0][k] = a * (b + observed) * d
		post.moments[1][k] = (b - a + observed) * d
		post.moments[2][k] = d
	}
}

// Work is the memory of one goroutine for evaluating posteriors, and the range
// of nodes that still matter for the pilot path it follows.
type Work struct {
	log     []float64 // weight of every node, in the log domain
	weights []float64 // the same relative to the largest
	largest float64   // of log
	lo, hi  int       // the nodes that matter

	counts []float64 // of tasks, for Partial
	scores []Scores  // by number of rollouts, for Partial
}

// NewWork returns a Work for the prior with every node in play.
func (p *Prior) NewWork() *Work {
	n := len(p.a)
	return &Work{log: make([]float64, n), weights: make([]float64, n), hi: n}
}

// Restart brings every node back into play, for another pilot path.
func (w *Work) Restart() { w.lo, w.hi = 0, len(w.log) }

// Scores are the posterior expectations of p(1−p) by pilot successes, which
// are a quadratic in S (paper, Eq. 7, multiplied out).
type Scores struct{ constant, linear, square float64 }

// At returns the score of a task with s pilot successes. It is positive.
func (s Scores) At(successes int) float64 {
	x := float64(successes)
	return s.constant + x*(s.linear-x*s.square)
}

// negligible is how far in log weight a node may lie below the largest without
// changing a sum in double precision.
const negligible = 38

// Scores evaluates a pilot vector given as the number of tasks by successes,
// counts[S] for S = 0, …, m. The hyperposterior weights (paper, Eq. 6) are
// taken in the log domain.
func (p *Posterior) Scores(counts []int, w *Work) Scores {
	lo, hi := w.lo, w.hi
	log := w.log[lo:hi]
	copy(log, p.prior.log[lo:hi])
	for s, n := range counts {
		if n != 0 {
			floats.AddScaled(log, float64(n), p.marginal[s][lo:hi])
		}
	}
	weights := w.weights[lo:hi]
	w.largest = exponentiate(weights, log)
	scale := 1 / floats.Sum(weights)
	return Scores{
		scale * floats.Dot(weights, p.moments[0][lo:hi]),
		scale * floats.Dot(weights, p.moments[1][lo:hi]),
		scale * floats.Dot(weights, p.moments[2][lo:hi]),
	}
}

// exponentiate sets weights to the exponentials of logs less the largest, which it returns.
// Negligible ones are 0.
func exponentiate(weights, logs []float64) (top float64) {
	top = largest(logs)
	for k, l := range logs {
		weights[k] = 0
		if l -= top; l > -negligible {
			weights[k] = math.Exp(l)
		}
	}
	return top
}

// Narrow takes the outer values of ξ out of play at which, after the pilot last
// evaluated, no node has a relative weight above exp(−drop). It suits a path
// drawn from the prior and followed to larger pilots: relative weights are
// then martingales, so that a node left out returns to weight x with a
// probability of at most exp(−drop)/x.
func (w *Work) Narrow(p *Prior, drop float64) {
	floor := w.largest - drop
	for w.hi-w.lo > p.order && largest(w.log[w.lo:w.lo+p.order]) < floor {
		w.lo += p.order
	}
	for w.hi-w.lo > p.order && largest(w.log[w.hi-p.order:w.hi]) < floor {
		w.hi -= p.order
	}
}

// largest returns the greatest of some finite numbers; floats.Max spends most of
// its time looking for NaN.
func largest(xs []float64) float64 {
	top := xs[0]
	for _, x := range xs {
		if x > top {
			top = x
		}
	}
	return top
}

// Nodes is the prior as a mixture: the shapes α = ξκ and β = (1−ξ)κ of every node,
// and the log of its weight.
func (p *Prior) Nodes() (alpha, beta, log []float64) {
	return slices.Clone(p.a), slices.Clone(p.b), slices.Clone(p.log)
}

// Mixture is a law of the probabilities of all tasks. Given one of its nodes the tasks are
// independent, and p of a task is Beta(a, b).
type Mixture struct {
	Tasks   int
	Weights []float64 // of the nodes; their sum is 1
	Shapes  func(node, task int) (a, b float64)
}

// Draw draws the probabilities of all tasks into ps.
func (m Mixture) Draw(source rand.Source, ps []float64) {
	at, left := 0, uniform(source)
	for ; at < len(m.Weights)-1 && left >= m.Weights[at]; at++ {
		left -= m.Weights[at]
	}
	for i := range m.Tasks {
		a, b := m.Shapes(at, i)
		ps[i] = DrawBeta(a, b, source)
	}
}

// DrawBeta draws from Beta(a, b).
func DrawBeta(a, b float64, source rand.Source) float64 {
	p := distuv.Beta{Alpha: a, Beta: b, Src: source}.Rand()
	if math.IsNaN(p) { // shapes so small that p is 0 or 1 in double precision
		p = 0
		if uniform(source) < a/(a+b) {
			p = 1
		}
	}
	return p
}

// uniform returns a uniform number in [0, 1).
func uniform(source rand.Source) float64 { return float64(source.Uint64()>>11) * 0x1p-53 }

// Update is the prior after rollouts whose number may differ by task: Eq. 13 of the paper,
// with all known rollouts of a task in the place of its pilot. It holds whatever decided on
// the numbers, as long as that knew no more of the tasks than these rollouts. Posterior and
// Partial give the same, for the many updates of a replay or of a run.
type Update struct {
	prior     *Prior
	observed  []int
	successes []float64 // sums of rewards
	weights   []float64 // of the nodes; their sum is 1
}

// Update returns the update by observed[i] rollouts of task i, with rewards between 0 and 1
// whose sum is rewards[i]. A reward r counts as r of a success and 1 − r of a failure: the
// likelihood is Π p^r·(1−p)^(1−r), which has its maximum at the mean reward. It is an error if
// there are no tasks, or if a sum is not between 0 and the number of rollouts.
func (p *Prior) Update(observed []int, rewards []float64) (*Update, error) {
	if len(observed) == 0 || len(observed) != len(rewards) {
		return nil, fmt.Errorf("rollouts of %d tasks, rewards of %d: want one of each for every task", len(observed), len(rewards))
	}
	passed, failed, all := taskCounts{}, taskCounts{}, taskCounts{}
	for i, n := range observed {
		s := rewards[i]
		if !(s >= 0 && s <= float64(n)) {
			return nil, fmt.Errorf("task %d has rewards of %v in %d rollouts", i, s, n)
		}
		passed[s]++
		failed[float64(n)-s]++
		all[float64(n)]++
	}
	u := &Update{prior: p, observed: observed, successes: rewards, weights: slices.Clone(p.log)}
	passed.addLogRising(u.weights, p.a, 1)
	failed.addLogRising(u.weights, p.b, 1)
	kappa := make([]float64, len(p.a))
	floats.AddTo(kappa, p.a, p.b)
	all.addLogRising(u.weights, kappa, -1)
	top := largest(u.weights)
	for k, l := range u.weights {
		u.weights[k] = math.Exp(l - top)
	}
	floats.Scale(1/floats.Sum(u.weights), u.weights)
	return u, nil
}

// taskCounts is numbers of tasks, by a number of rollouts, or by a sum of rewards.
type taskCounts map[float64]float64

// addLogRising adds to each sum, sign times, the logs of the rising factorials of all tasks, n
// being the task's number.
func (t taskCounts) addLogRising(sums, xs []float64, sign float64) {
	for _, n := range slices.Sorted(maps.Keys(t)) {
		times := sign * t[n]
		for k, x := range xs {
			sums[k] += times * logRising(x, n)
		}
	}
}

// fewFactors is a number of factors that are multiplied sooner than looked up in
// the gamma function, and whose product cannot overflow.
const fewFactors = 16

// logRising is log[Γ(x+n)/Γ(x)], for a whole n the log of x(x+1)…(x+n−1).
func logRising(x, n float64) float64 {
	if n > fewFactors || n != math.Trunc(n) {
		to, _ := math.Lgamma(x + n)
		from, _ := math.Lgamma(x)
		return to - from
	}
	product := 1.0
	for i := range int(n) {
		product *= x + float64(i)
	}
	return math.Log(product)
}

// Moments are the posterior expectations of a task's p and p(1−p).
func (u *Update) Moments(task int) (mean, variance float64) {
	n, s := float64(u.observed[task]), u.successes[task]
	for k, weight := range u.weights {
		a, b := u.prior.a[k]+s, u.prior.b[k]+n-s
		mean += weight * a / (a + b)
		variance += weight * a * b / ((a + b) * (a + b + 1))
	}
	return mean, variance
}

// Mixture is the joint posterior of all tasks.
func (u *Update) Mixture() Mixture {
	return Mixture{len(u.observed), u.weights, func(node, task int) (a, b float64) {
		s := u.successes[task]
		return u.prior.a[node] + s, u.prior.b[node] + (float64(u.observed[task]) - s)
	}}
}
