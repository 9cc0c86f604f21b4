package replay

import (
	"context"
	"math"

	"speceval/internal/exante"
	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/sweep"
	"speceval/internal/variance"
	"speceval/method/neyman"
)

// redrawn is a profile with other pass counts, as another run of its rollouts
// of each task might have given them: Binomial(K, p̂), independent. A profile that
// turns out degenerate is drawn again, since it would not have been evaluated.
func redrawn(p profile.Profile, random *seed.Stream) profile.Profile {
	most := 0
	for i := range p.N() {
		most = max(most, p.Rollouts(i))
	}
	path := make([]uint64, pilot.Words(most))
	other := p
	other.PassCounts = make([]int, p.N())
	for {
		for i := range other.PassCounts {
			k := p.Rollouts(i)
			own := path[:pilot.Words(k)]
			pilot.Bernoulli(own, k, p.P(i), random)
			other.PassCounts[i] = pilot.Successes(own, k)
		}
		if other.VarianceSum() > 0 {
			return other
		}
	}
}

// together is how many redrawn profiles, at least, meet the same draws. More
// would replay the profile itself less often, for the shift, but on fewer draws
// in all; and what a profile's change is worth varies with the draw.
const together = 8

// resampled replays the designs of one profile on redrawn ones.
type resampled struct {
	designs       []variance.Design
	continuations []policy.Continuation
	rollouts      int // of the longest pilot
	draws         int
	errors        []pooled             // by design
	analytic      map[choice][]float64 // ratios of allocations known beforehand
	policies      policy.List
}

// newResampled takes the designs from the ratios of a profile.
func newResampled(policies policy.List, ratios []variance.Ratio, prior *neyman.Prior, draws int) (*resampled, error) {
	s := &resampled{policies: policies, draws: draws, analytic: map[choice][]float64{}}
	for _, r := range ratios {
		if r.M == nil {
			continue // analytic
		}
		d := variance.Design{Policy: r.Policy, Donors: r.Donors, NTasks: r.NTasks, Budget: r.Budget, Alpha: r.Alpha, M: *r.M, W: *r.W}
		own := policy.Bench{Prior: prior} // so that it keeps its tables
		c, err := continuation(policies, d, &own)
		if err != nil {
			return nil, err
		}
		s.designs = append(s.designs, d)
		s.continuations = append(s.continuations, c)
		s.rollouts = max(s.rollouts, int(d.M))
	}
	s.errors = make([]pooled, len(s.designs))
	return s, nil
}

// resample finds out what of the error of a profile's ratios, given in full,
// comes from its pass probabilities being estimates: the ratio of every policy,
// with its design held as it is, on so many redrawn profiles, replayed on so
// many draws each. Groups of them have common random numbers, which they share
// with the profile itself.
func resample(ctx context.Context, policies policy.List, p profile.Profile, ratios []variance.Ratio, prior *neyman.Prior, resamples, draws int, at seed.Seed) ([]variance.ProfileError, error) {
	s, err := newResampled(policies, ratios, prior, draws)
	if err != nil {
		return nil, err
	}
	random := at.Child("profiles").Stream()
	groups := max(1, resamples/together)
	for g := range groups {
		var others []profile.Profile
		for range (g+1)*resamples/groups - g*resamples/groups {
			others = append(others, redrawn(p, &random))
		}
		if err := s.group(ctx, p, others, at.Child("pilots").Index(g).Stream()); err != nil {
			return nil, err
		}
	}
	return s.rows(ratios, resamples), nil
}

// group replays redrawn profiles and the profile itself on the same draws.
func (s *resampled) group(ctx context.Context, p profile.Profile, others []profile.Profile, pilots seed.Stream) error {
	base := make([][]float64, len(s.designs)) // ratio of the profile itself: [design][draw]
	tables := make([]*crossed, len(s.designs))
	for k := range s.designs {
		base[k] = make([]float64, s.draws)
		tables[k] = newCrossed(len(others), s.draws)
	}
	if err := s.replay(ctx, p, pilots, func(k, draw int, ratio float64) { base[k][draw] = ratio }); err != nil {
		return err
	}
	for row, other := range others {
		err := s.replay(ctx, other, pilots, func(k, draw int, ratio float64) {
			tables[k].set(row, draw, ratio-base[k][draw])
		})
		if err != nil {
			return err
		}
		known, err := analytic(s.policies, other, s.designs)
		if err != nil {
			return err
		}
		for _, r := range known {
			s.analytic[choice{r.Key(), r.Budget}] = append(s.analytic[choice{r.Key(), r.Budget}], r.VarianceRatio)
		}
	}
	for k, table := range tables {
		s.errors[k].add(table)
	}
	return nil
}

// replay visits the ratio of every design and draw on a profile.
func (s *resampled) replay(ctx context.Context, p profile.Profile, pilots seed.Stream, visit func(k, draw int, ratio float64)) error {
	of := func(k int) (policy.Continuation, error) { return s.continuations[k], nil }
	return sweep.Each(ctx, probabilities(p), s.draws, s.rollouts, sweep.OwnStreams(pilots, p.N(), s.rollouts), func(sw *sweep.Sweep, first int) error {
		return eachValue(sw, s.designs, of, func(k, draw int, coefficient float64) {
			d := s.designs[k]
			visit(k, first+draw, neyman.Risk(int(d.Budget), int(d.M), d.W, coefficient))
		})
	})
}

// rows are the errors of the given ratios. Those of ratios that are computed
// exactly are the plain standard deviation.
func (s *resampled) rows(ratios []variance.Ratio, resamples int) []variance.ProfileError {
	var rows []variance.ProfileError
	k := 0
	for _, r := range ratios {
		row := variance.ProfileError{
			Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks, Budget: r.Budget,
			Policy: r.Policy, Donors: r.Donors, Alpha: r.Alpha, Resamples: int32(resamples),
		}
		if r.M == nil {
			mean, se := exante.MeanAndError(s.analytic[choice{r.Key(), r.Budget}])
			row.Shift, row.ShiftSE = mean-r.VarianceRatio, se
			row.ProfileSE = se * math.Sqrt(float64(resamples))
		} else {
			row.Draws = int32(s.draws)
			row.ProfileSE = s.errors[k].spread()
			row.Shift, row.ShiftSE = s.errors[k].mean()
			k++
		}
		rows = append(rows, row)
	}
	return rows
}
