package replay

import (
	"context"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
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

// profileErrors are the parts of the errors of a profile's ratios that come from its pass
// probabilities being estimates, with the designs held as they are. An allocation known
// beforehand follows the probabilities themselves and jumps where one is zero: the errors of
// its ratio are over redrawn profiles, resamples in number. All others come from the
// derivatives of the ratio, by draws of the pilot.
func profileErrors(ctx context.Context, p profile.Profile, ratios []variance.Ratio, prior *neyman.Prior, resamples, draws int, at seed.Seed) ([]variance.ProfileError, error) {
	var rows []variance.ProfileError
	for _, r := range ratios {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row, err := variance.ProfileError{Subject: r.Subject}, error(nil)
		if r.M == nil {
			err = redrawnErrors(p, r, resamples, at.Child("profiles").Stream(), &row)
		} else {
			err = designErrors(p, r, prior, draws, at.Child("pilots").Child(r.Policy).Index(int(r.Budget)).Stream(), &row)
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// redrawnErrors fills in the errors of the ratio of an allocation known beforehand.
func redrawnErrors(p profile.Profile, r variance.Ratio, resamples int, random seed.Stream, row *variance.ProfileError) error {
	of, shifts := policy.All.Find(r.Key()), make([]float64, resamples)
	for k := range shifts {
		other, _, err := knownRatio(of, redrawn(p, &random), r.Budget)
		if err != nil {
			return err
		}
		shifts[k] = other.VarianceRatio - r.VarianceRatio
	}
	row.Shift, row.ShiftSE = pilot.MeanAndError(shifts)
	row.ProfileSE, row.Resamples = row.ShiftSE*math.Sqrt(float64(resamples)), int32(resamples)
	return nil
}

// pilotGroups is the groups of pilots behind the errors of a two-stage policy's ratio.
const pilotGroups = 8

// designErrors fills in the errors of the ratio of a two-stage policy.
func designErrors(p profile.Profile, r variance.Ratio, prior *neyman.Prior, draws int, random seed.Stream, row *variance.ProfileError) error {
	m, w, n := int(*r.M), *r.W, p.N()
	s := setting(variance.Design{NTasks: r.NTasks, Budget: r.Budget, Alpha: r.Alpha, M: *r.M})
	scores := policy.All.Find(r.Key()).TwoStage.Allocates(prior, s)
	of, rollouts, passes := newSensitivity(p, r.Budget, pilotGroups), slices.Repeat([]int{m}, n), make([]int, n)
	shrinkage, continuation := make([]float64, n), continued(s, scores)
	for draw := range draws {
		for i, p := range of.ps {
			passes[i] = pilot.Binomial(m, p, &random)
		}
		allocation, err := continuation(passes)
		if err != nil {
			return err
		}
		for i, l := range allocation {
			shrinkage[i] = w*w/float64(m) + (1-w)*(1-w)/float64(l)
		}
		of.addEvaluation(draw%pilotGroups, rollouts, passes, shrinkage)
	}
	of.fill(row)
	return nil
}

// resampleUnit finds the errors of one profile's ratios under the designs as they are stored:
// of two-stage policies, and of allocations known beforehand.
func (b *builder) resampleUnit(of pair.Pair) dag.Unit {
	u := b.unit("resample/"+of.Name(), []string{keySeed, keyOrder, "replay.resamples", "replay.resample_draws"}, twoStageID)
	draws := max(pilotGroups, b.ResampleDraws)
	u.Cost = resampleSeconds * float64((draws+2*b.Resamples)*of.N())
	b.onProfile(&u, of, policy.None, rowsOf(u.Outputs[0], errorSchema, func(ctx context.Context, job *dag.Job, p profile.Profile, at seed.Seed) ([]variance.ProfileError, error) {
		ratios, prior, err := b.underDesigns(job, of)
		if err != nil {
			return nil, err
		}
		return profileErrors(ctx, p, ratios, prior, b.Resamples, draws, at)
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
