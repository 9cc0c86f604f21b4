package studies

import (
	"context"
	"fmt"
	"math"
	"slices"

	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/drift"
	"speceval/method/estimate"
	"speceval/method/informed"
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
		return []drift.Reference{{Tasks: pilotOutcomes(ps, 64, random)}}, nil
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

// pilotOutcomes draws so many rollouts of every task.
func pilotOutcomes(ps []float64, rollouts int, random *seed.Stream) (all []drift.Outcome) {
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

// drift tests models that have changed, and such that have not, and compares false alarms
// with their rate; then it asks whether siblings explain a model.
func (s *study) drift(ctx context.Context) error {
	columns := []string{"b", "pilot", "reference"}
	for _, c := range changes {
		columns = append(columns, c.name)
	}
	s.heading(fmt.Sprintf("drift: alarms, of %d pilots for each of %d profiles, a tenth of that where the model has changed", s.number, len(s.profiles)), columns...)
	for _, budget := range []int{8, 16, 32, 64} {
		for _, r := range references {
			cells := []any{budget, plan(budget).Pilots, r.name}
			for _, c := range changes {
				number := s.number
				if c.name != "none" {
					number = (number + 9) / 10
				}
				alarms, err := collect(ctx, s, fmt.Sprint("drift ", budget, r.name, c.name), func(_ int, p profile.Profile, random *seed.Stream) (int, error) {
					return s.alarms(r, c, p, budget, number, random)
				})
				if err != nil {
					return err
				}
				share, se := rate(alarms, number)
				cells = append(cells, cell(share, se))
				if err := s.alarmed(c.name == "none" && r.exact, share, se, fmt.Sprintf("b = %d, %s: models that stay", budget, r.name)); err != nil {
					return err
				}
			}
			s.line(cells...)
		}
	}
	return s.siblings(ctx)
}

// alarmed is an error if false alarms are more frequent than a test states.
func (s *study) alarmed(unchanged bool, share, se float64, where string) error {
	if unchanged && s.number >= fewest && share > drift.FalseAlarms+4*se {
		return fmt.Errorf("%s: %.2f%% false alarms", where, 100*share)
	}
	return nil
}

// alarms is the number of alarms of a profile's model.
func (s *study) alarms(r reference, c change, p profile.Profile, budget, number int, random *seed.Stream) (alarms int, err error) {
	e, before := s.evaluator(), probabilities(p)
	for range number {
		known, err := r.draw(e, before, budget, random)
		if err != nil {
			return 0, err
		}
		v, err := drift.Same(known, pilotOutcomes(c.apply(before, random), plan(budget).Pilots, random), drift.Settings{Seed: random.Uint64(), Draws: draws})
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

// models are those that donors are asked to explain: whether they are drawn from the
// prior, and the share of tasks that are swapped.
var models = []struct {
	name    string
	ofPrior bool
	swap    float64
}{
	{"drawn from the donors' nodes", true, 0}, {"the profile's", false, 0}, {"half of its tasks swapped", false, 0.5}, {"all of them swapped", false, 2},
}

// siblings asks whether the other models of a benchmark explain a profile's, and such
// that have changed, by pilots of some sizes.
func (s *study) siblings(ctx context.Context) error {
	number := (s.number + 49) / 50
	columns := []string{"pilot"}
	for _, m := range models {
		columns = append(columns, m.name)
	}
	s.heading(fmt.Sprintf("drift from siblings: alarms, of %d pilots for each of %d profiles", number, len(s.profiles)), columns...)
	for _, m := range []int{1, 3, 6, 12} {
		cells := []any{m}
		for k := range models {
			alarms, err := collect(ctx, s, fmt.Sprint("siblings ", m, models[k].name), func(_ int, p profile.Profile, random *seed.Stream) (int, error) {
				return s.unexplained(p, m, k, number, random)
			})
			if err != nil {
				return err
			}
			share, se := rate(alarms, number)
			cells = append(cells, cell(share, se))
			if err := s.alarmed(models[k].ofPrior, share, se, fmt.Sprintf("pilots of %d: models as the donors have them", m)); err != nil {
				return err
			}
		}
		s.line(cells...)
	}
	return nil
}

// donors are the other models' profiles of a benchmark.
func (s *study) donors(p profile.Profile) (donors []informed.Donor) {
	for _, other := range s.profiles {
		if other.Benchmark != p.Benchmark || other.Model == p.Model || other.N() != p.N() {
			continue
		}
		d := informed.Donor{Name: other.Model, Passes: other.PassCounts}
		for range p.N() {
			d.Rollouts = append(d.Rollouts, other.TestedK)
		}
		donors = append(donors, d)
	}
	return donors
}

// unexplained is the number of models of a kind, out of so many, that a profile's siblings
// do not explain.
func (s *study) unexplained(p profile.Profile, rollouts, kind, number int, random *seed.Stream) (left int, err error) {
	donors := s.donors(p)
	if len(donors) == 0 {
		return 0, nil
	}
	prior, err := informed.New(p.N(), donors)
	if err != nil {
		return 0, err
	}
	passes := make([]int, p.N())
	for range number {
		ps := probabilities(p)
		if models[kind].ofPrior {
			prior.DrawByDonors(random, ps)
		}
		swap(ps, models[kind].swap, random)
		for i, q := range ps {
			passes[i] = binomial(random, rollouts, q)
		}
		e, err := drift.Explained(prior, rollouts, passes, drift.Settings{Seed: random.Uint64(), Draws: draws})
		if err != nil {
			return 0, err
		}
		if e.Left {
			left++
		}
	}
	return left, nil
}
