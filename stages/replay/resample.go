package replay

import (
	"context"
	"math"
	"slices"

	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// redrawn is a profile with other pass counts, as another run of its rollouts
// of each task might have given them: Binomial(K, p̂), independent. A profile that
// turns out degenerate is drawn again, since it would not have been evaluated.
func redrawn(p profile.Profile, random *seed.Stream) profile.Profile {
	other := p
	other.PassCounts = make([]int, p.N())
	for {
		for i := range other.PassCounts {
			other.PassCounts[i] = pilot.Passes(p.Rollouts(i), p.P(i), random)
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

// profileErrors estimates the part of the error of a profile's ratios that comes from its
// pass probabilities being estimates, on redrawn profiles, resamples in number. Groups of
// them meet the same draws as the profile itself. tables returns, for each ratio of a policy
// with pilots, in order, the excess of a group's ratios over the profile's own. The error of
// a ratio that is computed exactly is the standard deviation of analytic.
func profileErrors(p profile.Profile, ratios []variance.Ratio, resamples, draws int, at seed.Seed, analytic map[choice][]float64,
	tables func(group int, others []profile.Profile) ([]*crossed, error)) ([]variance.ProfileError, error) {
	random := at.Child("profiles").Stream()
	errors := make([]pooled, len(ratios))
	groups := max(1, resamples/together)
	for g := range groups {
		var others []profile.Profile
		for range (g+1)*resamples/groups - g*resamples/groups {
			others = append(others, redrawn(p, &random))
		}
		all, err := tables(g, others)
		if err != nil {
			return nil, err
		}
		for k, table := range all {
			errors[k].add(table)
		}
	}
	var rows []variance.ProfileError
	for _, r := range ratios {
		row := variance.ProfileError{
			Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks, Budget: r.Budget,
			Policy: r.Policy, Donors: r.Donors, Alpha: r.Alpha, Resamples: int32(resamples),
		}
		if r.M == nil {
			mean, se := pilot.MeanAndError(analytic[choice{r.Key(), r.Budget}])
			row.Shift, row.ShiftSE = mean-r.VarianceRatio, se
			row.ProfileSE = se * math.Sqrt(float64(resamples))
		} else {
			row.Draws = int32(draws)
			row.ProfileSE = errors[0].spread()
			row.Shift, row.ShiftSE = errors[0].mean()
			errors = errors[1:]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// resampled replays the designs of one profile on redrawn ones.
type resampled struct {
	designs       []variance.Design
	continuations []policy.Continuation
	rollouts      int // of the longest pilot
	draws         int
}

// newResampled takes the designs from the ratios of a profile.
func newResampled(ratios []variance.Ratio, prior *neyman.Prior, draws int) (*resampled, error) {
	s := &resampled{draws: draws}
	for _, r := range ratios {
		if r.M == nil {
			continue // analytic
		}
		d := variance.Design{Policy: r.Policy, Donors: r.Donors, NTasks: r.NTasks, Budget: r.Budget, Alpha: r.Alpha, M: *r.M, W: *r.W}
		own := policy.Bench{Prior: prior} // so that it keeps its tables
		c, err := continuation(d, &own)
		if err != nil {
			return nil, err
		}
		s.designs = append(s.designs, d)
		s.continuations = append(s.continuations, c)
		s.rollouts = max(s.rollouts, int(d.M))
	}
	return s, nil
}

// resample is profileErrors of two-stage policies and of allocations known beforehand,
// given in full, with the designs held as they are.
func resample(ctx context.Context, p profile.Profile, ratios []variance.Ratio, prior *neyman.Prior, resamples, draws int, at seed.Seed) ([]variance.ProfileError, error) {
	s, err := newResampled(ratios, prior, draws)
	if err != nil {
		return nil, err
	}
	exact := map[choice][]float64{}
	return profileErrors(p, ratios, resamples, draws, at, exact, func(g int, others []profile.Profile) ([]*crossed, error) {
		pilots := at.Child("pilots").Index(g).Stream()
		base := make([][]float64, len(s.designs)) // ratio of the profile itself: [design][draw]
		tables := make([]*crossed, len(s.designs))
		for k := range s.designs {
			base[k] = make([]float64, draws)
			tables[k] = newCrossed(len(others), draws)
		}
		if err := s.replay(ctx, p, pilots, func(k, draw int, ratio float64) { base[k][draw] = ratio }); err != nil {
			return nil, err
		}
		for row, other := range others {
			err := s.replay(ctx, other, pilots, func(k, draw int, ratio float64) { tables[k].set(row, draw, ratio-base[k][draw]) })
			if err != nil {
				return nil, err
			}
			known, err := analytic(other, s.designs)
			if err != nil {
				return nil, err
			}
			for _, r := range known {
				exact[choice{r.Key(), r.Budget}] = append(exact[choice{r.Key(), r.Budget}], r.VarianceRatio)
			}
		}
		return tables, nil
	})
}

// replay visits the ratio of every design and draw on a profile.
func (s *resampled) replay(ctx context.Context, p profile.Profile, pilots seed.Stream, visit func(k, draw int, ratio float64)) error {
	of := func(k int) (policy.Continuation, error) { return s.continuations[k], nil }
	return pilot.EachSweep(ctx, probabilities(p), s.draws, s.rollouts, pilot.OwnStreams(pilots, p.N(), s.rollouts), func(sw *pilot.Sweep, first int) error {
		return eachValue(sw, s.designs, of, func(k, draw int, coefficient float64) {
			d := s.designs[k]
			visit(k, first+draw, neyman.Risk(int(d.Budget), int(d.M), d.W, coefficient))
		})
	})
}

// Keys of the configuration that the errors of profiles read.
const (
	keyResamples     = "replay.resamples"
	keyResampleDraws = "replay.resample_draws"
)

// resampleID is the unit that redraws a profile.
func resampleID(p pair.Pair) string { return "resample/" + p.Name() }

// resampleUnit finds the errors of one profile's ratios under the designs as
// they are stored.
func (b *builder) resampleUnit(of pair.Pair) dag.Unit {
	u := b.unit(resampleID(of), []string{keySeed, keyOrder, keyResamples, keyResampleDraws}, twoStageID)
	u.Cost = resampleSeconds * float64(b.Resamples*b.ResampleDraws) / paperResamples
	b.onProfile(&u, of, policy.None, rowsOf(u.Outputs[0], errorSchema, func(ctx context.Context, job *dag.Job, p profile.Profile, at seed.Seed) ([]variance.ProfileError, error) {
		ratios, prior, err := b.underDesigns(job, of)
		if err != nil {
			return nil, err
		}
		return resample(ctx, p, ratios, prior, b.Resamples, b.ResampleDraws, at)
	}))
	return u
}

// underDesigns reads a pair's ratios under the designs as they are stored, and makes the
// prior.
func (b *builder) underDesigns(job *dag.Job, of pair.Pair) ([]variance.Ratio, *neyman.Prior, error) {
	all, err := dag.ReadRows[variance.Ratio](job, variance.TwoStageFile)
	if err != nil {
		return nil, nil, err
	}
	prior, err := neyman.NewPrior(b.QuadratureOrder)
	return slices.DeleteFunc(all, func(r variance.Ratio) bool {
		return r.Benchmark != of.Benchmark || r.Model != of.Model
	}), prior, err
}

// stagesResampleID is the unit that redraws a profile for the policies in stages with
// some donors.
func stagesResampleID(known *policy.Donors, p pair.Pair) string {
	return "resample/" + known.Name + "/" + p.Name()
}

// fewerResamples divides the redrawn profiles, and the draws, for policies in stages: an
// evaluation takes ten times as long as one in two, or more.
const fewerResamples = 4

// stagesResampleUnit finds the errors of one profile's ratios that come from it, for
// policies in stages under the designs as they are stored. The donors stay as they are.
func (b *builder) stagesResampleUnit(known *policy.Donors, of pair.Pair) dag.Unit {
	u := b.unit(stagesResampleID(known, of), []string{keySeed, keyResamples, keyResampleDraws}, stagesID(known, of))
	u.Cost = stagesResampleSeconds * float64(b.Resamples*b.ResampleDraws) / paperResamples
	b.onProfile(&u, of, known, rowsOf(u.Outputs[0], errorSchema, func(ctx context.Context, job *dag.Job, p profile.Profile, at seed.Seed) ([]variance.ProfileError, error) {
		ratios, err := dag.ReadRows[variance.Ratio](job, partFile(stagesID(known, of)))
		if err != nil {
			return nil, err
		}
		s := &stagesReplay{profile: p, known: known, at: at}
		if s.sources, err = b.sources(job, of, known); err != nil {
			return nil, err
		}
		for _, r := range ratios {
			d := variance.Design{NTasks: r.NTasks, Budget: r.Budget, M: *r.M}
			if r.W != nil {
				d.W = *r.W
			}
			s.runs = append(s.runs, &stagesRun{policy: policy.All.Find(r.Key()), design: d})
		}
		if err := s.renew(0); err != nil {
			return nil, err
		}
		return s.resample(ctx, ratios, max(2, b.Resamples/fewerResamples), max(2, b.ResampleDraws/fewerResamples))
	}))
	return u
}

// resample finds the errors of the ratios, in their order.
func (s *stagesReplay) resample(ctx context.Context, ratios []variance.Ratio, resamples, draws int) ([]variance.ProfileError, error) {
	return profileErrors(s.profile, ratios, resamples, draws, s.at, nil, func(g int, others []profile.Profile) (tables []*crossed, err error) {
		random := s.at.Child("draws").Index(g).Stream()
		for _, r := range s.runs {
			own, err := r.ratios(s.profile, draws, random)
			if err != nil {
				return nil, err
			}
			table := newCrossed(len(others), draws)
			for row, other := range others {
				theirs, err := r.ratios(other, draws, random)
				if err != nil {
					return nil, err
				}
				for draw, ratio := range theirs {
					table.set(row, draw, ratio-own[draw])
				}
			}
			tables = append(tables, table)
		}
		return tables, ctx.Err()
	})
}
