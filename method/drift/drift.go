// Package drift asks whether a model still behaves as is known of it, by the pilot of an
// evaluation: a fixed number of rollouts of every task, set before any of them was seen.
//
// # The same model
//
// Where rollouts of the same model are known (an earlier evaluation, a profile), Same tests
// that no task's rewards have another law now. Given all rollouts of a task, old and new,
// every choice of the new ones among them is then equally likely, whatever the law is. So
// the p-value is exact for any number of tasks and rollouts, however unlike the tasks are,
// and for graded rewards, too (Fisher's and Pitman's tests): the new rollouts are drawn
// again from the pools, many times, and the p-value is the share of draws, the real ones
// among them, that are as extreme.
//
// Two statistics share the test, each sensitive to what the other one misses: the sum of
// all tasks' excess, for a shift of the mean, and the sum of its squares, for tasks that
// moved in different directions. The less likely one counts, held to the less likely
// ones of all draws, so that looking at both costs nothing of the error rate.
//
// It has to be decided before a task's old rollouts were seen how many there are. That
// is so for a profile, for Uniform, and for the pilot of any evaluation. It is so for the
// last stage of an evaluation in stages, too, given all stages before it. It is not so
// for all stages together: rollouts that were stopped where they agreed are no sample of
// a fixed size. So an evaluation is two references, its pilot and its last stage, and
// Bonferroni's inequality joins the two.
package drift

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"speceval/internal/seed"
)

// FalseAlarms is how often a model that has not changed is said to have.
const FalseAlarms = 0.01

// Reference is rollouts of the model from before, whose numbers were decided before any
// of them: the rollouts of a profile, of one stage of an evaluation.
type Reference struct {
	Name  string // for messages
	Tasks []Outcome
}

// Settings are the settings of a test.
type Settings struct {
	Seed  uint64 // of the draws
	Draws int    // 0: 1,999; p-values are multiples of 1/(Draws+1)
}

const (
	manyDraws = 1999
	mostDraws = 1 << 20
)

func (s Settings) check() (Settings, error) {
	if s.Draws == 0 {
		s.Draws = manyDraws
	}
	if s.Draws < 1 || s.Draws > mostDraws {
		return s, fmt.Errorf("drift: %d draws: want 1 to %d", s.Draws, mostDraws)
	}
	return s, nil
}

// Comparison is a pilot compared with one reference.
type Comparison struct {
	Name  string
	Tasks int // that both have rollouts of

	// Shift is by how much the mean is higher now, over these tasks, which count alike,
	// and Error is its standard error if nothing has changed.
	Shift, Error float64

	ShiftP  float64 // p-value of the shift, to either side
	ChangeP float64 // and of changes task by task
	P       float64 // of both together: Moved if it is at most FalseAlarms
}

// Verdict is the result over all references.
type Verdict struct {
	P     float64 // by Bonferroni's inequality over references
	Moved bool    // whether it is at most FalseAlarms
	By    []Comparison
}

// Same tests whether the pilot's rollouts are of the same model as the references'. If
// they are, Moved is true in at most 1% of all cases, whatever the tasks are. It is an
// error if there is no reference, if one has other tasks than the pilot, or no rollouts
// of any of them, and if outcomes are no counts of rewards.
func Same(references []Reference, pilot []Outcome, s Settings) (Verdict, error) {
	s, err := s.check()
	if err != nil {
		return Verdict{}, err
	}
	if len(references) == 0 {
		return Verdict{}, errors.New("drift: no reference to compare the pilot with")
	}
	v := Verdict{P: 1}
	for k, r := range references {
		pools, c, err := r.pools(pilot)
		if err != nil {
			return Verdict{}, fmt.Errorf("drift: %s: %w", r.Name, err)
		}
		stream := seed.Root(s.Seed).Child("drift").Index(k).Stream()
		c.test(pools, s.Draws, &stream)
		v.P = min(v.P, float64(len(references))*c.P)
		v.By = append(v.By, c)
	}
	v.Moved = v.P <= FalseAlarms
	return v, nil
}

// pools returns the tasks that are informative, and the comparison of the reference with
// the pilot.
func (r Reference) pools(pilot []Outcome) (pools []pool, c Comparison, err error) {
	c.Name = r.Name
	if len(r.Tasks) != len(pilot) {
		return nil, c, fmt.Errorf("%d tasks, the pilot has %d", len(r.Tasks), len(pilot))
	}
	variance := 0.0
	for i, old := range r.Tasks {
		if err := errors.Join(old.check(), pilot[i].check()); err != nil {
			return nil, c, fmt.Errorf("task %d: %w", i, err)
		}
		p, telling := newPool(old, pilot[i])
		if p.all == 0 {
			continue
		}
		c.Tasks++
		c.Shift += p.gap
		variance += p.gapVariance()
		if telling {
			pools = append(pools, p)
		}
	}
	if c.Tasks == 0 {
		return nil, c, errors.New("no task has rollouts both in it and in the pilot")
	}
	c.Shift /= float64(c.Tasks)
	c.Error = math.Sqrt(variance) / float64(c.Tasks)
	return pools, c, nil
}

// test finds the p-values: of the statistics, and of the smaller one of these.
func (c *Comparison) test(pools []pool, draws int, random *seed.Stream) {
	all := make([]extreme, draws+1) // the real one last
	widest := 0
	for _, p := range pools {
		all[draws].add(p.excess)
		widest = max(widest, len(p.values))
	}
	left := make([]int, widest)
	for k := range draws {
		for _, p := range pools {
			all[k].add(p.draw(random, left))
		}
	}
	for k := range all {
		all[k] = all[k].done()
	}
	shift := pValues(all, func(e extreme) float64 { return e.shift })
	change := pValues(all, func(e extreme) float64 { return e.change })
	c.ShiftP, c.ChangeP = shift[draws], change[draws]
	least, extremer := min(c.ShiftP, c.ChangeP), 0
	for k := range all {
		if min(shift[k], change[k]) <= least {
			extremer++
		}
	}
	c.P = float64(extremer) / float64(len(all))
}

// rounding is how far sums of the same numbers in another order may be apart, relative to
// them: what is no closer is not equal.
const rounding = 1e-9

// pValues are the shares of all, each itself included, in which a statistic is at least
// as large.
func pValues(all []extreme, statistic func(extreme) float64) []float64 {
	order := make([]int, len(all))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(statistic(all[b]), statistic(all[a])) })
	ps := make([]float64, len(all))
	for first := 0; first < len(order); {
		x := statistic(all[order[first]])
		end := first + 1
		for end < len(order) && statistic(all[order[end]]) >= x-rounding*(1+x) {
			end++
		}
		for _, k := range order[first:end] {
			ps[k] = float64(end) / float64(len(all))
		}
		first = end
	}
	return ps
}

// Outcome is the rollouts of one task, by their rewards.
type Outcome []Reward

// Reward is a number of rollouts that had one reward.
type Reward struct {
	Value    float64 // in [0, 1]
	Rollouts int
}

// Passes is the outcome of rollouts that passed or failed.
func Passes(passes, rollouts int) Outcome { return Outcome{{0, rollouts - passes}, {1, passes}} }

// sum is the number of rollouts and the sum of their rewards.
func (o Outcome) sum() (rollouts int, rewards float64) {
	for _, r := range o {
		rollouts += r.Rollouts
		rewards += r.Value * float64(r.Rollouts)
	}
	return rollouts, rewards
}

// check says what is wrong with an outcome, if anything.
func (o Outcome) check() error {
	for _, r := range o {
		if r.Rollouts < 0 || !(r.Value >= 0 && r.Value <= 1) {
			return fmt.Errorf("%d rollouts with the reward %v: want counts, and rewards from 0 to 1", r.Rollouts, r.Value)
		}
	}
	return nil
}

// pool is all rollouts of one task, old and new.
type pool struct {
	values   []float64 // of rewards, ascending
	counts   []int     // of rollouts that have them
	all      int
	fresh    int     // new ones
	excess   float64 // of the new ones' rewards over their expected sum
	mean     float64 // of all
	variance float64 // of the excess, over choices of the new ones
	gap      float64 // mean of the new ones less mean of the old ones
}

// newPool puts a task's rollouts together. It is false if they cannot tell anything: if
// there are none of one kind, or if all have the same reward.
func newPool(old, fresh Outcome) (p pool, telling bool) {
	byValue := map[float64]int{}
	for _, r := range slices.Concat(old, fresh) {
		if r.Rollouts > 0 {
			byValue[r.Value] += r.Rollouts
		}
	}
	before, sumBefore := old.sum()
	now, sumNow := fresh.sum()
	if before == 0 || now == 0 {
		return pool{}, false
	}
	for value := range byValue {
		p.values = append(p.values, value)
	}
	slices.Sort(p.values)
	p.all, p.fresh = before+now, now
	p.mean = (sumBefore + sumNow) / float64(p.all)
	squares := 0.0
	for _, value := range p.values {
		n := byValue[value]
		p.counts = append(p.counts, n)
		squares += float64(n) * (value - p.mean) * (value - p.mean)
	}
	p.excess = sumNow - p.mean*float64(now)
	p.gap = sumNow/float64(now) - sumBefore/float64(before)
	// That of a sum without replacement.
	p.variance = float64(now) * float64(before) / float64(p.all) * squares / float64(p.all-1)
	return p, len(p.values) > 1
}

// gapVariance is the variance of gap: excess is gap times old·new/(old + new).
func (p pool) gapVariance() float64 {
	scale := float64(p.all) / (float64(p.fresh) * float64(p.all-p.fresh))
	return p.variance * scale * scale
}

// draw draws new rollouts from the pool and returns their excess. left is memory for as
// many numbers as there are values.
func (p pool) draw(source interface{ Float64() float64 }, left []int) float64 {
	left = left[:copy(left, p.counts)]
	sum := 0.0
	for taken := range p.fresh {
		place := int(source.Float64() * float64(p.all-taken))
		k := 0
		for ; place >= left[k]; k++ {
			place -= left[k]
		}
		left[k]--
		sum += p.values[k]
	}
	return sum - p.mean*float64(p.fresh)
}

// extreme is the two statistics of excesses: of the shift, whatever its sign, and of
// changes.
type extreme struct{ shift, change float64 }

func (e *extreme) add(excess float64) {
	e.shift += excess
	e.change += excess * excess
}

func (e extreme) done() extreme { return extreme{math.Abs(e.shift), e.change} }
