// Package informed is a prior of task probabilities that knows what others made of
// the same tasks: the rollouts of other models, or of the same model earlier. It
// takes the place of the reference prior of method/neyman, which knows the tasks
// apart by their own rollouts only. What it says decides where rollouts are spent,
// and never enters an estimate: that is unbiased whatever the donors are
// (method/staged).
//
//	prior, err := informed.New(tasks, []informed.Donor{{Name: "last month", Passes: passes, Rollouts: rollouts}})
//	post := prior.Posterior()
//	post.Observe(rollouts, passes) // of the pilot, and of each stage after it
//	post.Scores(scores)            // E[p(1−p)] of every task given all of that
//	shares := post.Shares()        // what the donors weigh by now
//
// # The prior
//
// It is a mixture. Given one of its nodes, the tasks are independent, and task i
// has p_i ~ Beta(α_i, β_i). There are three kinds of nodes:
//
//   - Cold: the reference prior of the paper (Eq. 5), α_i = ξκ and β_i = (1−ξ)κ.
//     Without donors there is no other.
//   - Shifted: α_i = κμ_i and β_i = κ(1−μ_i), with logit μ_i = a + s·d_i where d_i is
//     the logit of the donor's pass rate on the task, in steps of a half. There are
//     such nodes of every donor, and of the mean of all donors' logits. The shift a
//     says how much better the model is than the donor, the slope s how alike the
//     tasks are for both, and κ how far to go by that.
//   - Same: the donor's rollouts are taken for the model's own, α_i = ξκ + c_i and
//     β_i = (1−ξ)κ + n_i − c_i for c_i passes of n_i, weighted by what they say of
//     ξ and κ. That is an earlier run of the same model, if it has not changed.
//
// The cold nodes have a third of the prior weight together, and every other set of
// nodes, one for each donor and group, an equal part of the rest. The pilot decides
// which donor helps, and how much: a donor that is of no use costs what is lost
// while the rollouts have not yet said so. The cold nodes keep a twentieth of the
// weight, whatever the rollouts say: where donors are right of most tasks, and wrong
// of a few, no node is, and what is lost on the few is more than they are worth.
package informed

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"speceval/method/neyman"
)

// Prior is a prior informed by donors. It is safe for concurrent use.
type Prior struct {
	tasks   int
	sources []source // the cold one first
	order   func() []ordered
}

// source is a set of nodes that see the same tasks alike: the nodes of one level.
type source struct {
	donor       int32   // its index, or one of the values below
	level       []int32 // of each task
	levels      int
	nodes       int
	alpha, beta []float64 // [level][node], of a shifted source [step][node]
	log         []float64 // of the prior weights, by node
	steps       []int     // of a shifted source, the logit of each level as an index
}

// Donors that are none.
const (
	noDonor   = -1 // of the cold nodes
	allOfThem = -2 // of the mean of all donors
)

// The grid of shifted nodes.
var (
	shifts         = []float64{-3, -2, -1, 0, 1, 2, 3}
	slopes         = []float64{0.3, 0.9}
	concentrations = []float64{0.2, 0.7, 2.5, 9}
)

const (
	coldWeight = 1.0 / 3 // of the cold nodes together, where there are donors
	caution    = 0.05    // that they keep, whatever the rollouts say
	unlike     = 0.005   // of the cold nodes in a forecast by donors
	aloneOrder = 16      // of the quadrature of cold nodes without donors, as in the paper
	coldOrder  = 8       // and with them

	// negligible is how far in log weight a node may lie below the best: of the cold nodes,
	// of all donors' nodes, and of the nodes that a donor's own rollouts leave.
	negligible = 7
)

// New returns the prior of the tasks that knows of some donors. Without donors it is the
// reference prior. It is an error if a donor's counts are not counts, or if it has seen none
// of the tasks.
func New(tasks int, donors []Donor) (*Prior, error) {
	if tasks < 1 {
		return nil, fmt.Errorf("informed: %d tasks, want at least 1", tasks)
	}
	var faults []error
	for _, d := range donors {
		faults = append(faults, d.check(tasks))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("informed: %w", err)
	}
	p := &Prior{tasks: tasks}
	p.order = sync.OnceValue(p.ordered)
	if len(donors) == 0 {
		p.sources = []source{cold(tasks, aloneOrder)}
		return p, nil
	}
	p.sources = []source{cold(tasks, coldOrder)}
	for k, d := range donors {
		p.sources = append(p.sources, shifted(int32(k), d.logits()), same(int32(k), d))
	}
	if len(donors) > 1 {
		p.sources = append(p.sources, shifted(allOfThem, meanLogits(donors)))
	}
	floats.AddConst(math.Log(coldWeight), p.sources[0].log)
	for _, s := range p.sources[1:] {
		floats.AddConst(math.Log((1-coldWeight)/float64(len(p.sources)-1)), s.log)
	}
	return p, nil
}

// Likely returns the prior of a forecast: what donors make likely of the tasks, where New doubts
// them until rollouts have spoken. own says that they are the model itself, earlier; otherwise
// they are other models, and one of them is about as good. It has the errors of New.
func Likely(tasks int, donors []Donor, own bool) (*Prior, error) {
	p, err := New(tasks, donors)
	if err != nil || len(donors) == 0 {
		return p, err
	}
	p.sources = slices.DeleteFunc(p.sources, func(s source) bool { return s.donor != noDonor && own == (s.steps != nil) })
	for k, s := range p.sources {
		weight := unlike
		if k > 0 {
			weight = (1 - unlike) / float64(len(p.sources)-1)
		}
		if s.steps != nil {
			for node := range s.log {
				shift := shifts[node/len(concentrations)%len(shifts)]
				s.log[node] -= shift * shift / 2
			}
		}
		floats.AddConst(math.Log(weight)-floats.LogSumExp(s.log), s.log)
	}
	return p, nil
}

// Tasks is the number of tasks.
func (p *Prior) Tasks() int { return p.tasks }

// cold is the reference prior on a quadrature of some order.
func cold(tasks, order int) source {
	reference, err := neyman.NewPrior(order)
	if err != nil {
		panic(err) // an order of ours
	}
	s := source{donor: noDonor, level: make([]int32, tasks), levels: 1}
	s.alpha, s.beta, s.log = reference.Nodes()
	s.nodes = len(s.log)
	return s
}

// shiftedShapes are the shapes of shifted nodes: [step][node].
var shiftedShapes = func() (shapes [2][]float64) {
	for step := range 2*steps + 1 {
		for _, slope := range slopes {
			for _, shift := range shifts {
				mean := 1 / (1 + math.Exp(-shift-slope*float64(step-steps)/2))
				for _, kappa := range concentrations {
					shapes[0], shapes[1] = append(shapes[0], kappa*mean), append(shapes[1], kappa*(1-mean))
				}
			}
		}
	}
	return shapes
}()

// shifted is the nodes that follow some logits.
func shifted(donor int32, logits []float64) source {
	s := source{donor: donor, nodes: len(shifts) * len(slopes) * len(concentrations), alpha: shiftedShapes[0], beta: shiftedShapes[1]}
	var values []float64
	s.level, values = levels(logits)
	s.levels = len(values)
	for _, d := range values {
		s.steps = append(s.steps, steps+int(2*d))
	}
	s.log = make([]float64, s.nodes)
	floats.AddConst(-math.Log(float64(s.nodes)), s.log)
	return s
}

// same is the nodes that take the donor for the model itself. Of those of the
// reference prior only the ones stay that the donor's own rollouts leave.
func same(donor int32, d Donor) source {
	s := source{donor: donor}
	groups := s.group(d)
	all := cold(len(d.Passes), coldOrder)
	for k := range all.nodes {
		a, b := all.alpha[k], all.beta[k]
		before := [3]float64{logGamma(a), logGamma(b), logGamma(a + b)}
		for _, g := range groups {
			all.log[k] += g.tasks * (logGamma(a+g.passes) - before[0] + logGamma(b+g.failures) - before[1] - logGamma(a+b+g.passes+g.failures) + before[2])
		}
	}
	top := floats.Max(all.log)
	var a, b []float64
	for k, l := range all.log {
		if l > top-negligible {
			a, b, s.log = append(a, all.alpha[k]), append(b, all.beta[k]), append(s.log, l)
		}
	}
	s.nodes = len(s.log)
	floats.AddConst(-floats.LogSumExp(s.log), s.log)
	for _, g := range groups {
		for k := range s.nodes {
			s.alpha = append(s.alpha, a[k]+g.passes)
			s.beta = append(s.beta, b[k]+g.failures)
		}
	}
	return s
}

// group is tasks of about the same counts, with the mean of these.
type group struct{ tasks, passes, failures float64 }

// group puts tasks with as many rollouts and about the same pass rate on one level.
func (s *source) group(d Donor) (groups []group) {
	type nodeKey struct {
		level    int32
		rollouts int
	}
	near, _ := levels(d.logits())
	number := map[nodeKey]int32{}
	for i, n := range d.Rollouts {
		at, known := number[nodeKey{near[i], n}]
		if !known {
			at = int32(len(groups))
			number[nodeKey{near[i], n}] = at
			groups = append(groups, group{})
		}
		s.level = append(s.level, at)
		g := &groups[at]
		g.tasks++
		g.passes += (float64(d.Passes[i]) - g.passes) / g.tasks
		g.failures = float64(n) - g.passes
	}
	s.levels = len(groups)
	return groups
}

// logBeta is log B(a+c, b+f)/B(a, b), for any c and f.
func logBeta(a, b, c, f float64) float64 {
	return logGamma(a+c) - logGamma(a) + logGamma(b+f) - logGamma(b) - logGamma(a+b+c+f) + logGamma(a+b)
}

func logGamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}

// Mixture is the joint posterior of all tasks. It holds until the next rollouts.
func (q *Posterior) Mixture() neyman.Mixture {
	if !q.weighed {
		q.weigh()
	}
	type donorNode struct {
		*belief
		node int
	}
	var places []donorNode
	var weights []float64
	for k := range q.beliefs {
		b := &q.beliefs[k]
		b.ready(b.level, b.levels)
		for _, node := range b.alive {
			places = append(places, donorNode{b, int(node)})
			weights = append(weights, q.of(b).weight(b.weight[node]))
		}
	}
	return neyman.Mixture{Tasks: q.prior.tasks, Weights: weights, Shapes: func(node, task int) (alpha, beta float64) {
		at := places[node]
		x := &at.list[at.of[task]]
		alphas, betas := at.shapes(x.level)
		return alphas[at.node] + float64(x.passes), betas[at.node] + float64(x.rollouts-x.passes)
	}}
}

// Donor is knowledge of the tasks from elsewhere: counts of passes and rollouts of each. A
// task that the donor has not seen has no rollouts.
type Donor struct {
	Name             string // for messages
	Passes, Rollouts []int  // by task
}

// mostRollouts is the greatest number of rollouts of a donor's task, so that pass
// rates of a whole benchmark can be summed exactly.
const mostRollouts = 1 << 30

// check says what is wrong with a donor of the tasks, if anything.
func (d Donor) check(tasks int) error {
	if len(d.Passes) != tasks || len(d.Rollouts) != tasks {
		return fmt.Errorf("donor %s: passes of %d tasks and rollouts of %d, want %d of each", d.Name, len(d.Passes), len(d.Rollouts), tasks)
	}
	seen := false
	for i, n := range d.Rollouts {
		if c := d.Passes[i]; n < 0 || n > mostRollouts || c < 0 || c > n {
			return fmt.Errorf("donor %s: task %d has %d passes of %d rollouts", d.Name, i, c, n)
		}
		seen = seen || n > 0
	}
	if !seen {
		return fmt.Errorf("donor %s has no rollout of any of the %d tasks: are they of another benchmark?", d.Name, tasks)
	}
	return nil
}

// smoothing keeps the logit of a pass rate finite.
const smoothing = 0.4

// logits are the logits of the donor's pass rates. A task that it has not seen has the mean
// of the others.
func (d Donor) logits() []float64 {
	all := make([]float64, len(d.Passes))
	sum, seen := 0.0, 0.0
	for i, n := range d.Rollouts {
		if n > 0 {
			c := float64(d.Passes[i])
			all[i] = math.Log((c + smoothing) / (float64(n) - c + smoothing))
			sum, seen = sum+all[i], seen+1
		}
	}
	for i, n := range d.Rollouts {
		if n == 0 {
			all[i] = sum / seen
		}
	}
	return all
}

// meanLogits are the means of the logits of some donors, task by task.
func meanLogits(donors []Donor) []float64 {
	mean := make([]float64, len(donors[0].Passes))
	for _, d := range donors {
		for i, x := range d.logits() {
			mean[i] += x / float64(len(donors))
		}
	}
	return mean
}

// steps is how many steps of a half logits go up and down.
const steps = 16

// levels puts tasks with about the same logit together: into steps of a half, within
// ±8. It returns the level of each task and the logit of each level.
func levels(logits []float64) (of []int32, values []float64) {
	number := map[int]int32{}
	for _, x := range logits {
		step := int(math.Round(min(steps, max(-steps, 2*x))))
		at, known := number[step]
		if !known {
			at = int32(len(values))
			number[step] = at
			values = append(values, float64(step)/2)
		}
		of = append(of, at)
	}
	return of, values
}
