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
// of them: those of a profile, of one stage of an evaluation.
type Reference struct {
	Name  string // for messages
	Tasks []Outcome
}

// Settings are those of a test.
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

// Comparison is a pilot beside one reference.
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

// Verdict is what all references say.
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

// pools are the tasks that tell anything, and what a reference and the pilot look like
// beside one another.
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
