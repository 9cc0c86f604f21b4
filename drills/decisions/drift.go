package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/drift"
	"speceval/method/estimate"
)

// change is what has become of a model since its reference.
type change struct {
	name  string
	shift float64 // of the mean
	swap  float64 // share of the tasks that have one another's probabilities now
}

var changes = []change{{"none", 0, 0}, {"−3 points", -0.03, 0}, {"−5 points", -0.05, 0}, {"−10 points", -0.1, 0}, {"10% of tasks swapped", 0, 0.1}}

// reference is what is known of a model, by its probabilities.
type reference struct {
	name  string
	exact bool // whether numbers of rollouts were decided before they were seen
	draw  func(e *evaluator, ps []float64, budget int, random *seed.Stream) ([]drift.Reference, error)
}

var references = []reference{
	{"profile, 64 rollouts a task", true, func(e *evaluator, ps []float64, _ int, random *seed.Stream) ([]drift.Reference, error) {
		return []drift.Reference{{Tasks: pilot(ps, 64, random)}}, nil
	}},
	{"HBN at the same b: pilot, continuation", true, func(e *evaluator, ps []float64, budget int, random *seed.Stream) ([]drift.Reference, error) {
		tasks, err := e.evaluate(ps, budget, plan(budget), random)
		return []drift.Reference{{Tasks: outcomes(tasks, 0)}, {Tasks: outcomes(tasks, 1)}}, err
	}},
	{"the same, stages together", false, func(e *evaluator, ps []float64, budget int, random *seed.Stream) ([]drift.Reference, error) {
		tasks, err := e.evaluate(ps, budget, plan(budget), random)
		return []drift.Reference{{Tasks: outcomes(tasks, 0, 1)}}, err
	}},
}

// pilot draws so many rollouts of every task.
func pilot(ps []float64, rollouts int, random *seed.Stream) (all []drift.Outcome) {
	for _, p := range ps {
		all = append(all, drift.Passes(binomial(random, rollouts, p), rollouts))
	}
	return all
}

// outcomes are those of some stages of all tasks.
func outcomes(tasks []estimate.Task, stages ...int) (all []drift.Outcome) {
	for _, t := range tasks {
		var o drift.Outcome
		for _, k := range stages {
			o = append(o, drift.Passes(int(t.Stages[k].Rewards), t.Stages[k].Rollouts)...)
		}
		all = append(all, o)
	}
	return all
}

// draws is how often a test draws its pilot again.
const draws = 399

// drift tests models that have changed, and such that have not, and holds false alarms to
// their rate; then it asks whether siblings explain a model.
func (s *study) drift(ctx context.Context, stdout io.Writer) error {
	columns := []string{"b", "pilot", "reference"}
	for _, c := range changes {
		columns = append(columns, c.name)
	}
	heading(stdout, fmt.Sprintf("drift: alarms, of %d pilots for each of %d profiles, a tenth of that where the model has changed", s.number, len(s.profiles)), columns...)
	for _, budget := range []int{8, 16, 32, 64} {
		for _, r := range references {
			cells := []any{budget, plan(budget).Pilots, r.name}
			for _, c := range changes {
				number := s.number
				if c.name != "none" {
					number = (number + 9) / 10
				}
				alarms := make([]int, len(s.profiles))
				if err := s.each(ctx, fmt.Sprint("drift ", budget, r.name, c.name), func(k int, p profile.Profile, random *seed.Stream) (err error) {
					alarms[k], err = s.alarms(r, c, p, budget, number, random)
					return err
				}); err != nil {
					return err
				}
				share, se := rate(alarms, number)
				cells = append(cells, fmt.Sprintf("%s ± %.1f", percent(share), 100*se))
				if c.name == "none" && r.exact && s.number >= fewest && share > drift.FalseAlarms+4*se {
					return fmt.Errorf("b = %d: %.2f%% of models that stay are said to move, by %s", budget, 100*share, r.name)
				}
			}
			line(stdout, cells...)
		}
	}
	return s.siblings(ctx, stdout)
}

// alarms is the number of alarms of a profile's model.
func (s *study) alarms(r reference, c change, p profile.Profile, budget, number int, random *seed.Stream) (alarms int, err error) {
	e, before := s.evaluator(), probabilities(p)
	for range number {
		known, err := r.draw(e, before, budget, random)
		if err != nil {
			return 0, err
		}
		v, err := drift.Same(known, pilot(c.apply(before, random), plan(budget).Pilots, random), drift.Settings{Seed: random.Uint64(), Draws: draws})
		if err != nil {
			return 0, err
		}
		if v.Moved {
			alarms++
		}
	}
	return alarms, nil
}

// rate is a share over profiles, and its Monte Carlo error.
func rate(counts []int, number int) (share, se float64) {
	variance, n := 0.0, float64(len(counts))
	for _, count := range counts {
		x := float64(count) / float64(number)
		share += x / n
		variance += x * (1 - x) / float64(number) / (n * n)
	}
	return share, math.Sqrt(variance)
}

// apply changes a model.
func (c change) apply(before []float64, random *seed.Stream) []float64 {
	now := slices.Clone(before)
	if c.shift != 0 {
		shift(now, c.shift)
	}
	swap(now, c.swap, random)
	return now
}

// swap gives a share of the tasks, two by two, one another's probabilities.
func swap(ps []float64, share float64, random *seed.Stream) {
	any := func() int { return int(random.Float64() * float64(len(ps))) }
	for range int(math.Ceil(share * float64(len(ps)) / 2)) {
		i, j := any(), any()
		ps[i], ps[j] = ps[j], ps[i]
	}
}

// shift moves the logits of all probabilities by the same, so that their mean moves by
// the given one, as far as that goes.
func shift(ps []float64, by float64) {
	moved := func(x float64) []float64 {
		all := slices.Clone(ps)
		for i, p := range all {
			p = min(0.999, max(0.001, p)) // 0 and 1 are what a thousand rollouts cannot tell from these
			all[i] = 1 / (1 + math.Exp(-math.Log(p/(1-p))-x))
		}
		return all
	}
	goal := min(0.995, max(0.005, mean(ps)+by))
	low, high := -30.0, 30.0
	for range 60 {
		if middle := (low + high) / 2; mean(moved(middle)) < goal {
			low = middle
		} else {
			high = middle
		}
	}
	copy(ps, moved(low))
}
