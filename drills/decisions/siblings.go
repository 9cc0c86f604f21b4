package main

import (
	"context"
	"fmt"
	"io"

	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/drift"
	"speceval/method/informed"
)

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
func (s *study) siblings(ctx context.Context, stdout io.Writer) error {
	number := (s.number + 49) / 50
	columns := []string{"pilot"}
	for _, m := range models {
		columns = append(columns, m.name)
	}
	heading(stdout, fmt.Sprintf("drift from siblings: alarms, of %d pilots for each of %d profiles", number, len(s.profiles)), columns...)
	for _, m := range []int{1, 3, 6, 12} {
		cells := []any{m}
		for k := range models {
			alarms := make([]int, len(s.profiles))
			if err := s.each(ctx, fmt.Sprint("siblings ", m, models[k].name), func(at int, p profile.Profile, random *seed.Stream) (err error) {
				alarms[at], err = s.unexplained(p, m, k, number, random)
				return err
			}); err != nil {
				return err
			}
			share, se := rate(alarms, number)
			cells = append(cells, fmt.Sprintf("%s ± %.1f", percent(share), 100*se))
			if models[k].ofPrior && s.number >= fewest && share > drift.FalseAlarms+4*se {
				return fmt.Errorf("pilots of %d: %.2f%% of models as the donors have them are said to have left", m, 100*share)
			}
		}
		line(stdout, cells...)
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
