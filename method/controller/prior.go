package controller

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// Prior is the knowledge of the tasks before the first rollout. Cold is the paper's prior,
// which knows nothing of any task; others may know more, as from other evaluations. The
// estimate is unbiased whatever the prior, and the better the more of it is true.
//
// A Prior must be deterministic: with the same counts, come to in the same steps, its
// posteriors give the same scores. It must be safe for concurrent use.
type Prior interface {
	// Posterior is the prior's update, for one goroutine at a time, in an evaluation
	// whose pilot has the given number of rollouts of every task.
	Posterior(pilots int) Posterior
}

// Posterior is the update of a prior by the rollouts of an evaluation.
type Posterior interface {
	// Scores writes the expectation of p(1−p) of every task into scores, given that
	// successes[i] of observed[i] rollouts of task i passed (paper, Eqs. 7 and 13). Scores
	// are finite and not negative. It keeps none of the slices.
	Scores(observed, successes []int, scores []float64)
}

// Cold is the reference hierarchical prior, under which tasks are exchangeable (paper,
// Eq. 5). Controllers that are given the same Cold share its tables.
func Cold(prior *neyman.Prior) Prior { return &cold{prior: prior, partial: prior.Partial(0)} }

type cold struct {
	prior    *neyman.Prior
	partial  *neyman.Partial
	complete sync.Map // *neyman.Posterior of complete pilots, by their size
}

// Posterior is the update by Eqs. 6 and 7 once the pilot is complete, and by Eq. 13
// otherwise, which differ by rounding.
func (p *cold) Posterior(pilots int) Posterior {
	return &coldPosterior{cold: p, pilots: pilots, work: p.prior.NewWork(), counts: make([]int, pilots+1)}
}

type coldPosterior struct {
	*cold
	pilots int
	work   *neyman.Work
	counts []int // of complete pilots by successes
}

// Scores implements Posterior.
func (p *coldPosterior) Scores(observed, successes []int, scores []float64) {
	for _, n := range observed {
		if n != p.pilots {
			p.partial.Scores(observed, successes, p.work, scores)
			return
		}
	}
	complete, made := p.complete.Load(p.pilots)
	if !made {
		complete, _ = p.complete.LoadOrStore(p.pilots, p.prior.Pilot(p.pilots))
	}
	clear(p.counts)
	for _, s := range successes {
		p.counts[s]++
	}
	quadratic := complete.(*neyman.Posterior).Scores(p.counts, p.work)
	for i, s := range successes {
		scores[i] = quadratic.At(s)
	}
}

// Given is scores of all tasks that were decided beforehand, which no reward changes. They are of
// rewards as they are, graded ones too.
type Given []float64

// Posterior is the scores themselves.
func (g Given) Posterior(int) Posterior { return g }

// Scores implements Posterior.
func (g Given) Scores(_, _ []int, scores []float64) { copy(scores, g) }

// Informed is a prior that knows donors, of one benchmark or of several with a prior each.
// Its posteriors take in what is new since they were last asked, stage by stage at barriers,
// which is how policies are replayed (internal/policy/pilot): what is decided is the same, to the
// bit.
func Informed(benchmarks ...*informed.Prior) Prior { return informedPrior{benchmarks} }

type informedPrior struct{ informed.Suite }

// Posterior is the update, which needs no pilot.
func (p informedPrior) Posterior(int) Posterior {
	n := p.Tasks()
	return &informedPosterior{p.Posteriors(), make([]int, n), make([]int, n), make([]int, n), make([]int, n)}
}

// informedPosterior is the update by what was observed so far.
type informedPosterior struct {
	posterior           informed.Posteriors
	observed, successes []int
	rollouts, passes    []int // of them what is new
}

// Scores implements Posterior. Counts that do not contain the last ones begin anew; counts
// that are impossible for the prior's tasks have NaN as scores.
func (p *informedPosterior) Scores(observed, successes []int, scores []float64) {
	known := len(observed) == len(p.observed) && p.update(observed, successes)
	if !known && len(observed) == len(p.observed) {
		p.posterior.Restart()
		clear(p.observed)
		clear(p.successes)
		known = p.update(observed, successes)
	}
	if known {
		p.posterior.Scores(scores)
		return
	}
	for i := range scores {
		scores[i] = math.NaN()
	}
}

// update takes in what is new. It returns false if the last counts are no part of these.
func (p *informedPosterior) update(observed, successes []int) bool {
	news := 0
	for i, n := range observed {
		p.rollouts[i], p.passes[i] = n-p.observed[i], successes[i]-p.successes[i]
		news = max(news, p.rollouts[i])
	}
	switch {
	case news > 0 && p.posterior.Observe(p.rollouts, p.passes) != nil:
		return false
	case news <= 0 && !(slices.Equal(observed, p.observed) && slices.Equal(successes, p.successes)):
		return false
	}
	copy(p.observed, observed)
	copy(p.successes, successes)
	return true
}

// Past is an evaluation that is complete: its estimates, and the rollouts that they are
// of.
type Past struct {
	staged.Past
	Counts []Count // by task
}

// Rollouts is how many it has in all.
func (p *Past) Rollouts() (n int) {
	for _, c := range p.Counts {
		n += c.Rollouts
	}
	return n
}

// Count is the selected rollouts of one task whose rewards are there.
type Count struct {
	Rollouts int
	Rewards  float64 // the sum of their rewards, each from 0 to 1
	Squares  float64 // the sum of their squares
}

func (c *Count) addReward(reward float64) {
	c.Rollouts++
	c.Rewards += reward
	c.Squares += reward * reward
}

// spread is the sum of squares about the mean.
func (c Count) spread() float64 { return c.Squares - c.Rewards*c.Rewards/float64(c.Rollouts) }

// counts are the counts of all tasks, as a prior takes them: of graded rewards, passes are
// the nearest whole number to their sum.
type counts struct {
	all                 []Count
	observed, successes []int
}

func newCounts(tasks int) counts {
	numbers := make([]int, 2*tasks)
	return counts{make([]Count, tasks), numbers[:tasks], numbers[tasks:]}
}

func (c *counts) set(task int, to Count) {
	c.all[task], c.observed[task], c.successes[task] = to, to.Rollouts, int(math.Round(to.Rewards))
}

// news is the count that a task has come to.
type news struct {
	task int
	Count
}

// forecast scores the tasks by the news up to some time, in most cases later than the last.
type forecast struct {
	posterior Posterior
	counts    counts
	taken     int // news that the counts contain
	scores    []float64
}

// score returns the scores, which hold until the next call.
func (f *forecast) score(all []news) []float64 {
	if f.taken > len(all) {
		f.counts, f.taken = newCounts(len(f.scores)), 0
	}
	for _, n := range all[f.taken:] {
		f.counts.set(n.task, n.Count)
	}
	f.taken = len(all)
	f.counts.score(f.posterior, f.scores)
	return f.scores
}

// trust is how many rollouts of a task the spread of all tasks' rewards counts for,
// against the task's own.
const trust = 4

// score writes the expected variance of a rollout's reward of every task into scores:
// E[p(1−p)] by the posterior where rewards are 0 and 1. Graded rewards vary less than
// those of that mean. By how much is taken from all tasks' rollouts, and from the task's
// own as there come to be more of them.
func (c *counts) score(posterior Posterior, scores []float64) {
	posterior.Scores(c.observed, c.successes, scores)
	if _, given := posterior.(Given); given || !slices.ContainsFunc(c.all, func(n Count) bool { return n.Squares != n.Rewards }) {
		return
	}
	var seen, binary float64
	for i, n := range c.all {
		if n.Rollouts > 1 {
			seen += n.spread()
			binary += float64(n.Rollouts-1) * scores[i]
		}
	}
	if binary == 0 {
		return
	}
	share := min(1, max(seen, 1e-6*binary)/binary)
	for i, n := range c.all {
		own := 0.0
		if n.Rollouts > 1 {
			own = max(0, n.spread())
		}
		scores[i] = (trust*share*scores[i] + own) / (trust + float64(max(0, n.Rollouts-1)))
	}
}

// Settings are a policy and the setting that it is executed in.
type Settings struct {
	Policy Policy
	Tasks  int // N
	Budget int // b, average rollouts per task
	Pilots int // m, of every task, at least 1 and less than Budget; Uniform, where it only names rollouts, may have m = b

	// The rest of the plan, as in staged.Plan; Uniform has none.
	Weight      float64                    // w of the pilot's mean; but for rounding only the estimate depends on it
	LeaveOneOut func(others []int) float64 // in the place of Weight, if there is one
	Fractions   []float64                  // of what is left, by stage after the pilot; nil: all, in two stages
	Least       int                        // rollouts that a task has in its last stage at least; 0: 1
	Rounds      int                        // through all tasks, that all stages may take; 0: any number

	// TaskShares is the weight of each task in the mean over tasks; nil where all are alike.
	TaskShares []float64
	Cells      []staged.Cell // of the tasks, with their floors; nil: none

	// Remaining, if there is one, decides at every barrier how many rollouts are left from
	// there on, in the place of Budget, brought between Barrier.Least and Barrier.Most. It
	// must depend on the barrier alone, or on what else selected rollouts have told.
	Remaining func(Barrier) int

	// Past is a complete evaluation that this one extends by Left rollouts; nil if there is
	// none. With it there are no pilots, and Weight is the weight of its estimates.
	Past *Past
	Left int

	Prior Prior // nil under Uniform
	Order []int // rank of every task where speculation is tied; nil: task order

	// Late starts speculation after the first completion, as the published runs
	// did, and not as soon as every pilot has been submitted.
	Late bool
}

// Barrier is the knowledge at a barrier: staged.Barrier with the rollouts that each task has
// had so far, with the ones of Past. Nothing in it may be changed.
type Barrier struct {
	staged.Barrier
	Rollouts []int
}

// check says what is wrong with the settings, if anything. The rest of the plan is
// left to package staged.
func (s Settings) check() error {
	switch {
	case s.Policy > Async:
		return fmt.Errorf("controller: there is no %v", s.Policy)
	case s.Tasks < 1:
		return fmt.Errorf("controller: %d tasks, want at least 1", s.Tasks)
	case s.Policy == Uniform && s.Past != nil:
		return errors.New("controller: uniform extends no evaluation")
	case s.Past != nil && len(s.Past.Counts) != s.Tasks:
		return fmt.Errorf("controller: an earlier evaluation of %d tasks, want %d", len(s.Past.Counts), s.Tasks)
	case s.Policy == Uniform && (s.Pilots < 1 || s.Pilots > s.Budget):
		return fmt.Errorf("controller: %d of %d rollouts per task cannot be a pilot", s.Pilots, s.Budget)
	case s.Policy != Uniform && s.Past == nil && (s.Pilots < 1 || s.Pilots >= s.Budget):
		return fmt.Errorf("controller: a pilot of %d rollouts per task does not fit a budget of %d: want 1 to %d", s.Pilots, s.Budget, s.Budget-1)
	case s.Policy != Uniform && s.Prior == nil:
		return fmt.Errorf("controller: %v needs a prior", s.Policy)
	case s.Order != nil && len(s.Order) != s.Tasks:
		return fmt.Errorf("controller: the order ranks %d of %d tasks", len(s.Order), s.Tasks)
	}
	return nil
}

// plan is how the budget is spent.
func (s Settings) plan() staged.Plan {
	p := staged.Plan{Pilots: s.Pilots, Weight: s.Weight, LeaveOneOut: s.LeaveOneOut, Fractions: s.Fractions, Least: s.Least, Rounds: s.Rounds, TaskShares: s.TaskShares, Cells: s.Cells}
	if p.Fractions == nil {
		p.Fractions = []float64{1}
	}
	return p
}
