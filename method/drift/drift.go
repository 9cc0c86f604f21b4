// Package drift asks whether a model still behaves as is known of it, by the pilot of an
// evaluation: a fixed number of rollouts of every task, set before any of them was seen.
//
// Where rollouts of the same model are known (an earlier evaluation, a profile), Same tests
// that no task's chance to pass has changed. Given the passes of a task, old and new
// together, every choice of the new rollouts among all is then equally likely, whatever the
// chance is. So the p-value is exact for any number of tasks and rollouts, however unlike the
// tasks are (Fisher's test): the new rollouts are drawn again from the pools, many times, and
// the p-value is the share of draws, the real ones among them, that are as extreme.
//
// Two statistics share the test, each sensitive to what the other one misses: the sum of
// all tasks' excess, for a shift of the mean, and the sum of its squares, for tasks that
// moved in different directions. The less likely one counts, held to the less likely
// ones of all draws, so that looking at both costs nothing of the error rate.
//
// The number of a task's old rollouts has to be decided before they were seen. That
// is so for a profile, for Uniform, for the pilot of any evaluation, and for the
// last stage of an evaluation in stages, given all stages before it. It is not so
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

	"speceval/internal/policy/seed"
)

// FalseAlarms is how often a model that has not changed is said to have.
const FalseAlarms = 0.01

// Reference is rollouts of the model from before, whose numbers were decided before any
// of them: the rollouts of a profile, of one stage of an evaluation.
type Reference struct {
	Name  string // for messages
	Tasks []Outcome
}

// Outcome is the rollouts of one task.
type Outcome struct{ Passes, Rollouts int }

// Draws is a number of draws for Same that is enough: p-values are multiples of 1/2000.
const Draws = 1999

// Comparison is a pilot compared with one reference.
type Comparison struct {
	Name  string
	Tasks int // that both have rollouts of

	// Shift is by how much the mean is higher now, over these tasks, which count alike,
	// and Error is its standard error if nothing has changed.
	Shift, Error float64

	ShiftP  float64 // p-value of the shift, to either side
	ChangeP float64 // and of changes task by task
	P       float64 // of both together
}

// Verdict is the result over all references.
type Verdict struct {
	P     float64 // by Bonferroni's inequality over references
	Moved bool    // whether it is at most FalseAlarms
	By    []Comparison
}

// Same tests whether the pilot's rollouts are of the same model as the references', by a
// number of draws with a seed. If they are, Moved is true in at most 1% of all cases, whatever
// the tasks are. It is an error if there is no reference, if one has other tasks than the
// pilot, or no rollouts of any of them, and if outcomes are no counts.
func Same(references []Reference, pilot []Outcome, draws int, from uint64) (Verdict, error) {
	if draws < 1 || len(references) == 0 {
		return Verdict{}, fmt.Errorf("drift: %d references and %d draws: want at least one of each", len(references), draws)
	}
	v := Verdict{P: 1}
	for k, r := range references {
		pools, c, err := r.pools(pilot)
		if err != nil {
			return Verdict{}, fmt.Errorf("drift: %s: %w", r.Name, err)
		}
		stream := seed.Root(from).Child("drift").Index(k).Stream()
		c.test(pools, draws, &stream)
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
		for _, o := range []Outcome{old, pilot[i]} {
			if o.Passes < 0 || o.Passes > o.Rollouts {
				return nil, c, fmt.Errorf("task %d: %d passes of %d rollouts", i, o.Passes, o.Rollouts)
			}
		}
		if old.Rollouts == 0 || pilot[i].Rollouts == 0 {
			continue
		}
		p, gap, gapVariance := newPool(old, pilot[i])
		c.Tasks++
		c.Shift += gap
		variance += gapVariance
		if p.passes > 0 && p.passes < p.all {
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
	shifts, changes := make([]float64, draws+1), make([]float64, draws+1) // the real ones last
	for k := range shifts {
		for _, p := range pools {
			excess := p.excess
			if k < draws {
				excess = p.draw(random)
			}
			shifts[k] += excess
			changes[k] += excess * excess
		}
		shifts[k] = math.Abs(shifts[k])
	}
	shift, change := pValues(shifts), pValues(changes)
	c.ShiftP, c.ChangeP = shift[draws], change[draws]
	least, extremer := min(c.ShiftP, c.ChangeP), 0
	for k := range shift {
		if min(shift[k], change[k]) <= least {
			extremer++
		}
	}
	c.P = float64(extremer) / float64(len(shift))
}

// rounding is how far sums of the same numbers in another order may be apart, relative to
// them: what is no closer is not equal.
const rounding = 1e-9

// pValues are the shares of all, each itself included, that are at least as large.
func pValues(all []float64) []float64 {
	order := make([]int, len(all))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(all[b], all[a]) })
	ps := make([]float64, len(all))
	for first := 0; first < len(order); {
		x, end := all[order[first]], first+1
		for end < len(order) && all[order[end]] >= x-rounding*(1+x) {
			end++
		}
		for _, k := range order[first:end] {
			ps[k] = float64(end) / float64(len(all))
		}
		first = end
	}
	return ps
}

// pool is all rollouts of one task, old and new.
type pool struct {
	passes, all int
	fresh       int     // new ones
	mean        float64 // of all
	excess      float64 // of the new ones' passes over their expected number
}

// newPool puts a task's rollouts together. gap is the mean of the new ones less the mean of
// the old ones, with its variance over choices of the new ones.
func newPool(old, fresh Outcome) (p pool, gap, variance float64) {
	p = pool{passes: old.Passes + fresh.Passes, all: old.Rollouts + fresh.Rollouts, fresh: fresh.Rollouts}
	before, now, all := float64(old.Rollouts), float64(fresh.Rollouts), float64(p.all)
	p.mean = float64(p.passes) / all
	p.excess = float64(fresh.Passes) - p.mean*now
	squares := float64(p.all-p.passes)*p.mean*p.mean + float64(p.passes)*(1-p.mean)*(1-p.mean)
	scale := all / (now * before) // of a gap over its excess
	// The excess has the variance of a sum without replacement.
	return p, float64(fresh.Passes)/now - float64(old.Passes)/before, now * before / all * squares / (all - 1) * scale * scale
}

// draw draws new rollouts from the pool and returns their excess.
func (p pool) draw(random *seed.Stream) float64 {
	failures, passes := p.all-p.passes, 0
	for taken := range p.fresh {
		if int(random.Float64()*float64(p.all-taken)) < failures {
			failures--
		} else {
			passes++
		}
	}
	return float64(passes) - p.mean*float64(p.fresh)
}
