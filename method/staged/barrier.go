package staged

import (
	"fmt"
	"math"
	"slices"

	"speceval/method/neyman"
)

// Barrier is the knowledge between a stage that has been observed and the next one, not yet
// decided. All of it follows from observed rollouts, so that the rollouts still to come may
// be decided by it: weights stay fixed, and the estimate unbiased.
type Barrier struct {
	Stages     int       // that were observed
	Scores     []float64 // E[p(1−p)] of every task, given what was observed
	Shrinkage  []float64 // Σ c²/n of every task over these stages
	Rest       []float64 // weight that each task has left (R)
	TaskShares []float64 // of the tasks in the mean, by Plan.TaskShares; nil where all are alike
	Least      int       // rollouts that must be left: for each task that has weight left, Plan.Least, and for floors
	Most       int       // rollouts that may be left, by Plan.Rounds; 0: any number
	Left       int       // rollouts that are left
}

// Barrier returns where the evaluation is, by the scores of all tasks, once the stage
// under way is observed. Its slices hold until the next Decide.
func (s *Stages) Barrier(scores []float64) Barrier {
	return Barrier{
		Stages: s.stage + 1, Scores: scores, Shrinkage: s.shrinkage, Rest: s.ahead.rest, TaskShares: s.plan.TaskShares,
		Least: s.ahead.least(), Most: len(s.ahead.open) * s.ahead.allocator.Most, Left: s.ahead.left,
	}
}

// Reaching is the least number of rollouts, Least or more, that bring the expected variance
// of the estimated mean to the given one, if they are divided at this barrier and executed in
// one stage: the variance of the stages so far, and (Σ R·√v)² over the rollouts for the rest,
// which the allocation reaches but for rounding. It is false if no number is enough, since the
// observed stages have more already.
func (b Barrier) Reaching(variance float64) (rollouts int, ok bool) {
	spent, root := b.split()
	if root == 0 {
		return b.Least, spent <= variance
	}
	need := root * root / (variance - spent)
	if !(need > 0 && need < math.MaxInt32) {
		return 0, false
	}
	return max(b.Least, int(math.Ceil(need*(1-1e-12)))), true
}

// leastGain is the share of a variance below which what the rest adds to it is not worth
// pressing further: four times the rollouts for a tenth of the variance less.
const leastGain = 0.1

// Toward is the number of rollouts to have left for bringing the variance down to the given
// one: the number of Reaching, but no more than the number with which the rest adds a tenth
// of it. Where it takes more, or where no number is enough, the stages so far keep the
// variance up: they have come out less certain than expected, and no rest mends this.
func (b Barrier) Toward(variance float64) int {
	_, root := b.split()
	most := b.Least
	if need := root * root / (leastGain * variance); need > float64(most) {
		most = int(math.Ceil(min(need, math.MaxInt32)))
	}
	if n, ok := b.Reaching(variance); ok {
		return min(n, most)
	}
	return most
}

// split returns the variance of the mean that the stages so far leave, and Σ R·√v. The
// square of the latter over the rollouts is the variance of the rest.
func (b Barrier) split() (spent, root float64) {
	equal := 1 / float64(len(b.Scores))
	for i, v := range b.Scores {
		share := equal
		if b.TaskShares != nil {
			share = b.TaskShares[i]
		}
		spent += share * share * v * b.Shrinkage[i]
		root += share * b.Rest[i] * math.Sqrt(v)
	}
	return spent, root
}

// Resize changes how many rollouts are left, at a barrier. It may depend on anything
// that was observed, is at least Barrier.Least, and at most Barrier.Most where that is
// not 0.
func (s *Stages) Resize(left int) error {
	switch {
	case !s.observed || s.Done():
		return ErrOrder
	case left < s.ahead.least():
		return fmt.Errorf("staged: %d rollouts for %d tasks that have weight left: want at least %d", left, len(s.ahead.open), s.ahead.least())
	case s.ahead.allocator.Most > 0 && left > len(s.ahead.open)*s.ahead.allocator.Most:
		return fmt.Errorf("staged: %d rollouts for %d tasks do not fit the rounds that are left: want at most %d for each", left, len(s.ahead.open), s.ahead.allocator.Most)
	}
	s.ahead.left = left
	return nil
}

// Past is an evaluation that is complete, as the first stage of another one: the
// estimate of each task, and Σ c²/n of each.
type Past struct{ Means, Shrinkage []float64 }

// Extend begins an evaluation whose first stage is a complete evaluation. The plan's weight
// is the weight of its estimates: it must not depend on them, or on anything else that was
// random in it. left rollouts remain for the stages after it, which execute their fractions;
// the plan's pilots and cells are not used. The next step is Decide. The result cannot Restart.
func Extend(past Past, left int, plan Plan) (*Stages, error) {
	tasks := len(past.Means)
	plan.Pilots, plan.LeaveOneOut, plan.Cells = 1, nil, nil
	s, err := New(tasks, 1+max(1, plan.Least), plan)
	switch {
	case err != nil:
		return nil, err
	case len(past.Shrinkage) != tasks:
		return nil, fmt.Errorf("staged: means of %d tasks and shrinkage of %d", tasks, len(past.Shrinkage))
	case left < s.ahead.least():
		return nil, fmt.Errorf("staged: %d further rollouts for %d tasks: want at least %d for each", left, tasks, s.ahead.allocator.Least)
	}
	s.ahead.left, s.observed = left, true
	clear(s.sizes)
	for i, mean := range past.Means {
		shrinkage := past.Shrinkage[i]
		if !(shrinkage >= 0 && shrinkage < math.Inf(1)) || math.IsNaN(mean) || math.IsInf(mean, 0) {
			return nil, fmt.Errorf("staged: task %d has the estimate %v with the shrinkage %v", i, mean, shrinkage)
		}
		s.means[i] = plan.Weight * mean
		s.sum += s.Share(i) * s.means[i]
		s.shrinkage[i] = plan.Weight * plan.Weight * shrinkage
	}
	return s, nil
}

// Ahead is the rest of an evaluation after a stage: the tasks that have weight left, and the
// rollouts to divide among them. One goroutine at a time may use it. It is made by
// Stages.Ahead.
type Ahead struct {
	open   []int     // tasks with weight left, ascending
	rest   []float64 // the weight, of all tasks
	left   int       // rollouts
	shares []float64 // of the tasks in the mean; nil where all are alike
	cells  []Cell    // with what is still below their floors; nil: none

	scores    []float64
	others    []float64 // scores of cells above their floors
	divided   []int
	allocator neyman.Allocator
}

func (a *Ahead) clone() *Ahead {
	return &Ahead{
		open: slices.Clone(a.open), rest: slices.Clone(a.rest), left: a.left,
		shares: a.shares, cells: slices.Clone(a.cells), divided: make([]int, len(a.rest)),
		scores: make([]float64, len(a.rest)), allocator: neyman.Allocator{Least: a.allocator.Least, Most: a.allocator.Most},
	}
}

// Divide writes into shares how the rollouts are divided by the scores of all tasks,
// E[p(1−p)]: in proportion to the roots of R²·score, exactly and in whole rollouts, with at
// least Plan.Least for each task that has weight left and none for the others, whose scores
// are not read (Eq. 8 of the paper is the case R = 1−w). Where tasks have shares in the
// mean, R is multiplied by them. Cells have their floors.
//
// It is an error if there are not as many scores and shares as tasks, if a score is
// negative or not finite, and if nothing is left.
func (a *Ahead) Divide(scores []float64, shares []int) error {
	if len(scores) != len(a.rest) || len(shares) != len(a.rest) {
		return fmt.Errorf("staged: scores of %d tasks and shares of %d, want %d", len(scores), len(shares), len(a.rest))
	}
	if len(a.open) == 0 {
		return ErrOrder
	}
	most := 0.0
	for _, i := range a.open {
		most = max(most, a.rest[i])
	}
	own := a.scores[:len(a.open)]
	for k, i := range a.open {
		own[k] = scores[i]
		if r := a.rest[i]; r != most { // not where all have as much left, so that ties stay ties
			own[k] *= (r / most) * (r / most)
		}
		if a.shares != nil {
			own[k] *= a.shares[i] * a.shares[i]
		}
	}
	divided, err := a.divide(own)
	if err != nil {
		return fmt.Errorf("staged: %w", err)
	}
	clear(shares)
	for k, i := range a.open {
		shares[i] = divided[k]
	}
	return nil
}

// close takes out the tasks that have executed all of their shares.
func (a *Ahead) close(sizes, shares []int) {
	a.spend(sizes)
	a.open = slices.DeleteFunc(a.open, func(i int) bool { return sizes[i] == shares[i] })
}
