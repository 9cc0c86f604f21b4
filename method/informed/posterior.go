package informed

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"

	"speceval/method/neyman"
)

// Posterior is the prior after rollouts; every task may have its own number of them. It
// serves one goroutine.
type Posterior struct {
	prior    *Prior
	observed int      // times that Observe was called
	beliefs  []belief // by source
	cold     scale    // the cold source
	donors   scale    // the others
	weighed  bool     // the scales are of the weights as they are
	changed  []int32  // tasks with further rollouts
	table    []int32  // for refining groups

	pilots [longestPilot + 1]afterPilot // the last one of each size m
	pilot  *afterPilot                  // if nothing else was observed
}

// afterPilot is what a pilot leaves, kept for plans that begin with the same one.
type afterPilot struct {
	passes       []int
	beliefs      []belief
	cold, donors scale
	scores       []float64 // none before they are asked for
}

// scale turns the log weights of nodes into weights.
type scale struct {
	top   float64 // the greatest of them
	share float64 // of the node that has it
}

func (s scale) weight(log float64) float64 { return s.share * math.Exp(log-s.top) }

// belief is the remaining nodes of one source.
type belief struct {
	*source
	weight []float64                                     // in the log domain, by node
	alive  []int32                                       // the nodes that matter, ascending
	pilots [longestPilot + 1][]atomic.Pointer[[]float64] // marginals, by m: [level and S][node]
	places []int32                                       // of a pilot's groups in the list, from 1: [level][S]
	taskGroups

	sums, products []float64 // of the nodes that matter
}

// Posterior returns the posterior before any rollout.
func (p *Prior) Posterior() *Posterior {
	q := &Posterior{prior: p, table: newTable(p.tasks)}
	for k := range p.sources {
		s := &p.sources[k]
		q.beliefs = append(q.beliefs, belief{
			source: s, weight: make([]float64, s.nodes), alive: make([]int32, 0, s.nodes), taskGroups: taskGroups{of: make([]int32, p.tasks)},
		})
	}
	q.Restart()
	return q
}

// Restart forgets all rollouts.
func (q *Posterior) Restart() {
	q.observed, q.weighed, q.pilot = 0, false, nil
	for k := range q.beliefs {
		b := &q.beliefs[k]
		copy(b.weight, b.log)
		b.alive = b.alive[:b.nodes]
		for j := range b.alive {
			b.alive[j] = int32(j)
		}
		b.list = b.list[:0]
	}
}

// Observe adds further rollouts of each task, and how many of them passed. It is an error if
// these are not counts of the prior's tasks.
//
// Nodes that have become e⁻⁷ times less likely than the best, of the cold ones or of all
// donors' ones, leave for good: they would come back to weight x with a probability of at
// most e⁻⁷/x, their relative weights being martingales under the prior.
func (q *Posterior) Observe(rollouts, passes []int) error {
	if len(rollouts) != q.prior.tasks || len(passes) != q.prior.tasks {
		return fmt.Errorf("informed: rollouts of %d tasks and passes of %d, want %d of each", len(rollouts), len(passes), q.prior.tasks)
	}
	q.changed = q.changed[:0]
	for i, n := range rollouts {
		if s := passes[i]; n < 0 || s < 0 || s > n {
			return fmt.Errorf("informed: task %d has %d passes of %d rollouts", i, s, n)
		}
		if n > 0 {
			q.changed = append(q.changed, int32(i))
		}
	}
	q.pilot = nil
	if q.observed++; q.observed == 1 {
		if m := alike(rollouts); m > 0 {
			q.observePilot(m, passes)
			return nil
		}
	}
	for k := range q.beliefs {
		b := &q.beliefs[k]
		if len(b.alive) == 0 {
			continue
		}
		b.ready(b.level, b.levels)
		b.refine(q.changed, rollouts, passes, q.table)
		b.observe()
		b.settle()
	}
	q.weigh()
	return nil
}

// observePilot observes a pilot of m rollouts of every task, before all else.
func (q *Posterior) observePilot(m int, passes []int) {
	q.pilot = &q.pilots[m]
	if known := q.pilot; slices.Equal(known.passes, passes) {
		for k := range q.beliefs {
			q.beliefs[k].become(&known.beliefs[k])
		}
		q.cold, q.donors, q.weighed = known.cold, known.donors, true
		return
	}
	for k := range q.beliefs {
		q.beliefs[k].addPilot(m, passes)
	}
	q.weigh()
	if q.pilot.beliefs == nil {
		q.pilot.beliefs = make([]belief, len(q.beliefs))
	}
	for k := range q.beliefs {
		q.pilot.beliefs[k].become(&q.beliefs[k])
	}
	q.pilot.passes = append(q.pilot.passes[:0], passes...)
	q.pilot.cold, q.pilot.donors, q.pilot.scores = q.cold, q.donors, q.pilot.scores[:0]
}

// become makes b what another belief of the same source is.
func (b *belief) become(other *belief) {
	b.weight, b.alive = append(b.weight[:0], other.weight...), append(b.alive[:0], other.alive...)
	b.of, b.list, b.free = append(b.of[:0], other.of...), append(b.list[:0], other.list...), b.free[:0]
}

// weigh drops nodes that do not matter and normalizes the weights of the others: of the cold
// nodes, some of them always there, and of the donors' nodes.
func (q *Posterior) weigh() {
	cold := q.beliefs[:1]
	donors := q.beliefs[1:]
	q.weighed = true
	coldTop, coldSum := prune(cold)
	if len(donors) == 0 {
		q.cold = scale{top: coldTop, share: 1 / coldSum}
		return
	}
	top, sum := prune(donors)
	share := coldSum / (coldSum + sum*math.Exp(min(700, top-coldTop)))
	share = max(share, caution)
	q.cold, q.donors = scale{coldTop, share / coldSum}, scale{top, (1 - share) / sum}
}

// prune drops the nodes of some sources that do not matter among them, and returns the
// greatest log weight with the sum of all weights relative to it.
func prune(beliefs []belief) (top, sum float64) {
	top = math.Inf(-1)
	for k := range beliefs {
		b := &beliefs[k]
		for _, node := range b.alive {
			top = max(top, b.weight[node])
		}
	}
	for k := range beliefs {
		b := &beliefs[k]
		kept := b.alive[:0]
		for _, node := range b.alive {
			if l := b.weight[node] - top; l > -negligible {
				kept = append(kept, node)
				sum += math.Exp(l)
			}
		}
		b.alive = kept
	}
	return top, sum
}

// of is the scale of a source's nodes.
func (q *Posterior) of(b *belief) scale {
	if b.donor == noDonor {
		return q.cold
	}
	return q.donors
}

// Scores writes the posterior expectation of p(1−p) of every task. It is positive.
func (q *Posterior) Scores(scores []float64) {
	if q.pilot != nil && len(q.pilot.scores) > 0 {
		copy(scores, q.pilot.scores)
		return
	}
	if !q.weighed {
		q.weigh()
	}
	clear(scores)
	for k := range q.beliefs {
		b := &q.beliefs[k]
		if len(b.alive) == 0 {
			continue
		}
		b.ready(b.level, b.levels)
		b.score(q.of(b))
		for i, group := range b.of {
			scores[i] += b.list[group].score
		}
	}
	if q.pilot != nil {
		q.pilot.scores = append(q.pilot.scores, scores...)
	}
}

// Shares is how much of the posterior weight is on each donor, by its index: on its
// own nodes, of either kind. The rest is on the mean of all donors and on none.
func (q *Posterior) Shares() (donors []float64, mean, none float64) {
	if !q.weighed {
		q.weigh()
	}
	for k := range q.beliefs {
		b := &q.beliefs[k]
		weight := 0.0
		for _, node := range b.alive {
			weight += q.of(b).weight(b.weight[node])
		}
		switch {
		case b.donor == noDonor:
			none += weight
		case b.donor == allOfThem:
			mean += weight
		case int(b.donor) == len(donors):
			donors = append(donors, weight)
		default:
			donors[b.donor] += weight
		}
	}
	return donors, mean, none
}

// Draw draws the probabilities of all tasks into ps from the node at a place, from 0 to 1,
// among the weights of all nodes in the order of the expected Σ p(1−p). Uniform places give
// draws from the prior; places spread evenly give even ones.
func (p *Prior) Draw(place float64, source rand.Source, ps []float64) {
	var at ordered
	for _, at = range p.order() {
		if place -= at.weight; place < 0 {
			break
		}
	}
	for i, level := range at.level {
		alpha, beta := at.shapes(level)
		ps[i] = neyman.DrawBeta(alpha[at.node], beta[at.node], source)
	}
}

// ordered is a node of a source, its prior weight, and the Σ p(1−p) that it expects.
type ordered struct {
	*source
	node             int
	weight, variance float64
}

// ordered is all nodes, by their variance.
func (p *Prior) ordered() (nodes []ordered) {
	for k := range p.sources {
		s := &p.sources[k]
		tasks := make([]float64, s.levels)
		for _, level := range s.level {
			tasks[level]++
		}
		for node, log := range s.log {
			x := ordered{source: s, node: node, weight: math.Exp(log)}
			for level, n := range tasks {
				alphas, betas := s.shapes(int32(level))
				a, b := alphas[node], betas[node]
				x.variance += n * a * b / ((a + b) * (a + b + 1))
			}
			nodes = append(nodes, x)
		}
	}
	slices.SortStableFunc(nodes, func(x, y ordered) int { return cmp.Compare(x.variance, y.variance) })
	return nodes
}

// Variance is the expectation of Σ p(1−p) over the tasks.
func (p *Prior) Variance() (sum float64) {
	for _, x := range p.order() {
		sum += x.weight * x.variance
	}
	return sum
}

// longestPilot bounds the tables.
const longestPilot = 64

// alike is the size of a pilot, alike for all tasks; 0 if it is not, or longer than
// tables are made for.
func alike(rollouts []int) int {
	m := rollouts[0]
	if m > longestPilot {
		return 0
	}
	for _, n := range rollouts {
		if n != m {
			return 0
		}
	}
	return m
}

// addPilot updates the weights by a pilot of m rollouts of every task, and makes a
// group of each level and number of successes.
func (b *belief) addPilot(m int, passes []int) {
	if b.pilots[m] == nil {
		b.pilots[m] = make([]atomic.Pointer[[]float64], b.levels*(m+1))
	}
	b.list, b.free, b.places = b.list[:0], b.free[:0], slices.Grow(b.places[:0], b.levels*(m+1))[:b.levels*(m+1)]
	clear(b.places)
	for i, level := range b.level {
		place := &b.places[int(level)*(m+1)+passes[i]]
		if *place == 0 {
			b.list = append(b.list, taskGroup{level: level, rollouts: int32(m), passes: int32(passes[i])})
			*place = int32(len(b.list))
		}
		b.of[i] = *place - 1
		b.list[*place-1].tasks++
	}
	for k := range b.list {
		x := &b.list[k]
		floats.AddScaled(b.weight, float64(x.tasks), b.marginal(m, x))
	}
}

// marginal is the log likelihoods of a task of a group after a pilot of m rollouts, by node.
// They are made when they are first used.
func (b *belief) marginal(m int, x *taskGroup) []float64 {
	row := &b.pilots[m][int(x.level)*(m+1)+int(x.passes)]
	if b.steps != nil {
		row = &shiftedMarginals[b.steps[x.level]][m][x.passes]
	}
	if known := row.Load(); known != nil {
		return *known
	}
	made := make([]float64, b.nodes)
	alphas, betas := b.shapes(x.level)
	for node, alpha := range alphas {
		made[node] = logOdds(alpha, betas[node], int(x.passes), m-int(x.passes))
	}
	row.Store(&made)
	return made
}

// shiftedMarginals are the marginals of shifted nodes, which are the same for all donors:
// [step][m][S].
var shiftedMarginals [2*steps + 1][longestPilot + 1][longestPilot + 1]atomic.Pointer[[]float64]
