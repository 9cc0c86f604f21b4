// Package staged is the estimate of an evaluation in stages: of every task
// Σ c_k·X_k, where X_k is the mean of the n_k fresh rollouts that it has in stage
// k, and c_k its weight there. The paper's estimate is the case of two stages, a
// pilot and a continuation (Eq. 3).
//
// # Why it is unbiased
//
// The size n_k and the weight c_k are decided before stage k is seen, from
// anything that was seen before it: of this task, of all others, of other
// evaluations. The weights of a task add up to one, whatever happens. Given the
// past, E[X_k] = p; so stage by stage from the last, E[Σ c_k·X_k] = p. Neither
// the scores nor what they are made of need be right. What would not do is a
// weight that depends on its own stage, as where all rollouts of a task are pooled
// under an allocation that depends on them.
//
// A Stages holds to this by its form. Decide fixes the sizes and weights of the
// next stage from scores, and only then does it take that stage's outcome, by
// Observe. The one weight that is found after its stage, the pilot's under
// Plan.LeaveOneOut, is a function of the other tasks' pilots alone.
//
//	s, err := staged.New(tasks, budget, plan)
//	for {
//		sizes := s.Sizes()            // rollouts to execute now, by task
//		err := s.Observe(passes)      // of them, by task
//		if s.Done() { break }
//		err = s.Decide(scores)        // E[p(1−p)] of every task, given all of that
//	}
//	mean := s.Mean()
//
// # Its variance
//
// Stages of a task are uncorrelated given the past, so that the variance of the
// mean over N tasks is Σ v·E[Σ c_k²/n_k]/N² with v = p(1−p). Shrinkage is the inner
// sum as it came out.
//
// Under Plan.LeaveOneOut this holds up to a term of the relative order 1/N: the weight of
// task i depends on the pilot of task j and the other way round, which correlates the two.
// This adds Σ E[w_i·w_j·(X_i−p_i)·(X_j−p_j)]/N² over all pairs, X being pilots' means. The
// estimate is unbiased all the same.
package staged

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"speceval/method/neyman"
)

// Stages is the estimate of one evaluation, stage by stage. It is made by New; one
// that has been made can begin again, for another evaluation, in the memory that it
// has.
type Stages struct {
	plan     Plan
	budget   int
	stage    int  // under way, from 0; the pilot is 0
	rounds   int  // of Plan.Rounds, that the stages so far take
	observed bool // the outcome of the stage is known
	ahead    Ahead

	weights   []float64 // c of this stage
	sizes     []int     // n of this stage
	shares    []int     // of all rollouts from this stage on, as they were divided at its beginning
	means     []float64 // Σ c·X of the stages that were observed
	sum       float64   // of the means
	shrinkage []float64 // Σ c²/n, this stage included

	counts  []int     // of pilots by successes
	rewards []float64 // of passes, for Observe

	// The stage that was observed last, for Drop.
	latest        []float64 // X
	latestSizes   []int
	latestWeights []float64
}

// New begins an evaluation of the tasks with an average budget of rollouts per task. The
// pilot is then under way. It is an error if the plan does not fit.
func New(tasks, budget int, plan Plan) (*Stages, error) {
	if tasks < 1 {
		return nil, fmt.Errorf("staged: %d tasks, want at least 1", tasks)
	}
	if err := plan.check(tasks, budget); err != nil {
		return nil, err
	}
	plan.Fractions, plan.TaskShares, plan.Cells = slices.Clone(plan.Fractions), slices.Clone(plan.TaskShares), slices.Clone(plan.Cells)
	s := &Stages{
		plan: plan, budget: budget,
		weights: make([]float64, tasks), means: make([]float64, tasks), shrinkage: make([]float64, tasks),
		sizes: make([]int, tasks), shares: make([]int, tasks), counts: make([]int, plan.Pilots+1), rewards: make([]float64, tasks),
		latest: make([]float64, tasks), latestSizes: make([]int, tasks), latestWeights: make([]float64, tasks),
		ahead: Ahead{
			open: make([]int, 0, tasks), rest: make([]float64, tasks),
			scores: make([]float64, tasks), shares: plan.TaskShares, cells: slices.Clone(plan.Cells), divided: make([]int, tasks),
			allocator: neyman.Allocator{Least: max(1, plan.Least)},
		},
	}
	s.Restart()
	return s, nil
}

// Restart begins another evaluation under the same plan.
func (s *Stages) Restart() {
	s.stage, s.observed, s.sum = 0, false, 0
	s.rounds = s.plan.Pilots
	s.bound()
	s.ahead.left = len(s.sizes) * (s.budget - s.plan.Pilots)
	s.ahead.open = s.ahead.open[:0]
	for i := range s.sizes {
		s.sizes[i], s.shares[i], s.means[i] = s.plan.Pilots, s.budget, 0
		s.weigh(i, s.plan.Weight)
		s.ahead.open = append(s.ahead.open, i)
	}
	copy(s.ahead.cells, s.plan.Cells)
	s.ahead.spend(s.sizes)
}

// bound bounds what a task may have in the stages ahead by the rounds that are left. Each
// stage but the last may round a task's part up, so that a round is kept for it.
func (s *Stages) bound() {
	if s.plan.Rounds > 0 {
		s.ahead.allocator.Most = max(1, s.plan.Rounds-s.rounds-max(0, len(s.plan.Fractions)-s.stage-1))
	}
}

// weigh gives a task's pilot its weight.
func (s *Stages) weigh(task int, weight float64) {
	s.weights[task], s.ahead.rest[task] = weight, 1-weight
	s.shrinkage[task] = weight * weight / float64(s.plan.Pilots)
}

// Stage is the stage under way, from 0: the pilot.
func (s *Stages) Stage() int { return s.stage }

// Sizes is the rollouts of each task in the stage under way, n. It holds until the
// next Decide. A task that has finished has none.
func (s *Stages) Sizes() []int { return s.sizes }

// Shares is how all rollouts from this stage on were divided among the tasks at its
// beginning. Sizes is the part of them that is executed now. It holds until the next Decide.
// In the last stage both are the same.
func (s *Stages) Shares() []int { return s.shares }

// Weights is the weight of each task's mean in the stage under way, c. Under
// Plan.LeaveOneOut the pilot's is known after Observe. It holds until the next Decide.
func (s *Stages) Weights() []float64 { return s.weights }

// Rest is the weight that each task has left for later stages, R. It holds until the
// next Decide.
func (s *Stages) Rest() []float64 { return s.ahead.rest }

// Left is the number of rollouts that all tasks have left for later stages. It is 0
// from the last Decide on: from then on every task's size is known.
func (s *Stages) Left() int { return s.ahead.left }

// Ahead is the rest of the evaluation after the stage under way, for forecasts of the next
// Decide. It stays valid whatever becomes of s. Before the pilot is observed it goes by
// Plan.Weight.
func (s *Stages) Ahead() *Ahead { return s.ahead.clone() }

// Shrinkage is Σ c²/n of each task over the stages so far, the one under way
// included: of a task whose rollouts have the variance v, v times it is the variance
// of its estimate once that is complete.
func (s *Stages) Shrinkage() []float64 { return s.shrinkage }

// ErrOrder means that a stage was observed twice, or decided before it was seen.
var ErrOrder = errors.New("staged: Observe and Decide take turns, until Done")

// Observe takes the outcome of the stage under way: the passes of each task among
// its Sizes.
func (s *Stages) Observe(passes []int) error {
	if len(passes) != len(s.sizes) {
		return fmt.Errorf("staged: passes of %d tasks, want %d", len(passes), len(s.sizes))
	}
	for i, x := range passes {
		s.rewards[i] = float64(x)
	}
	return s.ObserveRewards(s.rewards)
}

// ObserveRewards takes the outcome of the stage under way where rewards are graded,
// from 0 to 1: the sum of the rewards of each task's rollouts. It keeps none of the
// slice. Plan.LeaveOneOut is for passes: a sum counts as the nearest whole number.
func (s *Stages) ObserveRewards(sums []float64) error {
	if s.observed {
		return ErrOrder
	}
	if len(sums) != len(s.sizes) {
		return fmt.Errorf("staged: rewards of %d tasks, want %d", len(sums), len(s.sizes))
	}
	for i, x := range sums {
		if !(x >= 0 && x <= float64(s.sizes[i])) {
			return fmt.Errorf("staged: task %d has rewards of %v in all from %d rollouts: want 0 to 1 from each", i, x, s.sizes[i])
		}
	}
	if s.stage == 0 && s.plan.LeaveOneOut != nil {
		if err := s.leaveOneOut(sums); err != nil {
			return err
		}
	}
	s.sum += s.addOutcome(sums)
	s.observed = true
	return nil
}

// addOutcome adds the outcome of the stage to the tasks' means and returns what it adds to
// their sum. A weight that all tasks have in common multiplies once, so that two
// stages give w·ΣX + (1−w)·ΣY, as Eq. 3 has it, to the bit.
func (s *Stages) addOutcome(sums []float64) float64 {
	common := true
	plain, weighted := 0.0, 0.0
	for i, x := range sums {
		common = common && s.weights[i] == s.weights[0]
		if n := s.sizes[i]; n > 0 {
			mean := x / float64(n)
			s.latest[i] = mean
			s.means[i] += s.weights[i] * mean
			plain += s.Share(i) * mean
			weighted += s.Share(i) * s.weights[i] * mean
		}
	}
	if common {
		return s.weights[0] * plain
	}
	return weighted
}

// leaveOneOut sets the pilots' weights. Tasks with as many successes have the same
// others.
func (s *Stages) leaveOneOut(sums []float64) error {
	clear(s.counts)
	for _, x := range sums {
		s.counts[int(math.Round(x))]++
	}
	for own, n := range s.counts {
		if n == 0 {
			continue
		}
		s.counts[own]--
		weight := s.plan.LeaveOneOut(s.counts)
		s.counts[own]++
		if !(weight >= 0 && weight <= 1) {
			return fmt.Errorf("staged: a leave-one-out weight of %v: want 0 to 1", weight)
		}
		for i, x := range sums {
			if int(math.Round(x)) == own {
				s.weigh(i, weight)
			}
		}
	}
	return nil
}

// Decide begins the next stage, by the scores of all tasks, E[p(1−p)] given what has been
// observed. Scores of finished tasks are not read. The rollouts that are left are divided by
// R²·score, R being the weight that a task has left, exactly, with at least Plan.Least for
// each (Eq. 8 of the paper is the case R = 1−w). Of its share T a task executes n = f·T
// rounded, at least one, with the weight R·n/T. Where this would leave fewer than Plan.Least
// it executes the whole share, and finishes.
//
// It is an error if a score is negative or not finite, and after Done.
func (s *Stages) Decide(scores []float64) error {
	switch {
	case !s.observed || s.Done():
		return ErrOrder
	case len(scores) != len(s.sizes):
		return fmt.Errorf("staged: scores of %d tasks, want %d", len(scores), len(s.sizes))
	}
	if err := s.ahead.Divide(scores, s.shares); err != nil {
		return err
	}
	fraction := s.plan.Fractions[s.stage]
	copy(s.latestSizes, s.sizes)
	copy(s.latestWeights, s.weights)
	for i, share := range s.shares {
		s.sizes[i], s.weights[i] = 0, 0
		if share > 0 {
			s.begin(i, share, fraction)
		}
	}
	s.ahead.close(s.sizes, s.shares)
	s.stage, s.observed = s.stage+1, false
	s.rounds += slices.Max(s.sizes)
	s.bound()
	return nil
}

// begin gives a task its part of the next stage.
func (s *Stages) begin(task, share int, fraction float64) {
	size, weight, rest := share, s.ahead.rest[task], 0.0
	if n := max(1, int(math.Round(fraction*float64(share)))); n <= share-s.ahead.allocator.Least {
		size = n
		weight *= float64(size) / float64(share)
		rest = s.ahead.rest[task] - weight
	}
	s.sizes[task], s.weights[task], s.ahead.rest[task] = size, weight, rest
	s.shrinkage[task] += weight * weight / float64(size)
	s.ahead.left -= size
}

// Drop takes the stage under way back, before it is observed: nothing of it counts. The
// stage before it is then the last one, and each of its tasks has all the weight that was
// left at its decision, which was known before it was seen. That something of the dropped
// stage decided so is a selection: it is for what hardly ever happens, such as a limit
// that a stage reaches though it was sized to stay below. After it the estimate is Done.
func (s *Stages) Drop() error {
	if s.observed || s.stage == 0 || slices.Max(s.latestSizes) == 0 { // an evaluation that is extended has no sizes
		return ErrOrder
	}
	for i, n := range s.sizes {
		if n == 0 {
			continue
		}
		rest := s.ahead.rest[i] + s.weights[i]
		weight := s.latestWeights[i]
		s.shrinkage[i] += ((weight+rest)*(weight+rest)-weight*weight)/float64(s.latestSizes[i]) - s.weights[i]*s.weights[i]/float64(n)
		s.means[i] += rest * s.latest[i]
		s.sum += s.Share(i) * rest * s.latest[i]
		s.latestWeights[i], s.ahead.rest[i] = weight+rest, 0
	}
	copy(s.sizes, s.latestSizes)
	copy(s.weights, s.latestWeights)
	s.ahead.left, s.ahead.open = 0, s.ahead.open[:0]
	s.stage, s.observed = s.stage-1, true
	return nil
}

// Done reports whether every task has finished, and the whole budget is spent.
func (s *Stages) Done() bool { return s.observed && s.ahead.left == 0 }

// Share is a task's share in the mean times the number of tasks: 1 where all are alike.
func (s *Stages) Share(task int) float64 {
	if s.plan.TaskShares == nil {
		return 1
	}
	return s.plan.TaskShares[task] * float64(len(s.sizes))
}

// Mean is the estimate of the mean over tasks, once Done.
func (s *Stages) Mean() float64 { return s.sum / float64(len(s.means)) }

// Means is the estimates of all tasks, Σ c·X, once Done. They are not what a task's
// rollouts pooled would say.
func (s *Stages) Means() []float64 { return s.means }

// Plan says how an evaluation in stages spends its budget. It is fixed before the
// first rollout.
type Plan struct {
	Pilots int     // m, rollouts of every task in the first stage
	Weight float64 // of the pilot's mean, from 0 to 1

	// LeaveOneOut, if there is one, is the weight of a task's pilot in the place of
	// Weight, from the pilots of all other tasks: others[S] of them have S successes.
	// It must not be kept, and must not depend on anything else that is random.
	LeaveOneOut func(others []int) float64

	// Fractions are the parts of each task's share of the remaining rollouts that the stages
	// after the pilot execute, one for each stage. The last is 1, as is the only one of a
	// plan with two stages.
	Fractions []float64

	// Least is the number of rollouts that a task has ahead for as long as it has weight
	// left, so at least this number in its last stage; 0: 1. Estimates of pass^k need it. It
	// is at most the rollouts that the pilot leaves of the budget.
	Least int

	// Rounds is the number of rounds through all tasks that all stages together may take,
	// where a stage takes as many as its largest task has rollouts; 0: any number. It is for
	// programs that go through all tasks again and again, and skip the ones that have had
	// their rollouts.
	Rounds int

	// TaskShares is the weight of each task in the mean over tasks, positive and one in all;
	// nil where all are alike. Tasks of several benchmarks may count differently.
	TaskShares []float64

	// Cells divides the tasks, in their order, into cells with floors; nil: none.
	Cells []Cell
}

// Stages is the number of stages, the pilot among them.
func (p Plan) Stages() int { return 1 + len(p.Fractions) }

// check says what is wrong with a plan for the tasks and a budget of rollouts a task, if
// anything.
func (p Plan) check(tasks, budget int) error {
	switch {
	case p.Pilots < 1 || p.Pilots >= budget:
		return fmt.Errorf("staged: a pilot of %d rollouts per task does not fit a budget of %d: want 1 to %d", p.Pilots, budget, budget-1)
	case p.Least < 0 || p.Least > budget-p.Pilots:
		return fmt.Errorf("staged: at least %d rollouts per task after a pilot of %d do not fit a budget of %d: want 0 to %d", p.Least, p.Pilots, budget, budget-p.Pilots)
	case p.Rounds != 0 && p.Rounds < budget+len(p.Fractions):
		return fmt.Errorf("staged: %d rounds cannot hold a budget of %d in %d stages: want %d at least, and better twice as many", p.Rounds, budget, p.Stages(), budget+len(p.Fractions))
	case !(p.Weight >= 0 && p.Weight <= 1):
		return fmt.Errorf("staged: a stage weight of %v: want 0 to 1", p.Weight)
	case len(p.Fractions) == 0 || p.Fractions[len(p.Fractions)-1] != 1:
		return fmt.Errorf("staged: fractions %v: the last stage executes all that is left, 1", p.Fractions)
	}
	if err := errors.Join(p.checkShares(tasks), p.checkCells(tasks, budget)); err != nil {
		return err
	}
	for _, f := range p.Fractions {
		if !(f > 0 && f <= 1) {
			return fmt.Errorf("staged: a fraction of %v: want more than 0 and at most 1", f)
		}
	}
	return nil
}

func (p Plan) checkShares(tasks int) error {
	if p.TaskShares == nil {
		return nil
	}
	if len(p.TaskShares) != tasks {
		return fmt.Errorf("staged: shares of %d tasks, want %d", len(p.TaskShares), tasks)
	}
	sum := 0.0
	for i, share := range p.TaskShares {
		if !(share > 0) {
			return fmt.Errorf("staged: task %d has the share %v: want a positive number", i, share)
		}
		sum += share
	}
	if math.Abs(sum-1) > 1e-9 {
		return fmt.Errorf("staged: shares come to %v: want 1", sum)
	}
	return nil
}
