package drift

import (
	"fmt"
	"math"
	"slices"
)

// Outcome is the rollouts of one task, by their rewards.
type Outcome []Reward

// Reward is so many rollouts that had one reward.
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

// pool is all rollouts of one task, of which some are new.
type pool struct {
	values   []float64 // of rewards, ascending
	counts   []int     // of rollouts that have them
	all      int
	fresh    int     // new ones
	excess   float64 // of the new ones' rewards over what is expected of so many
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
