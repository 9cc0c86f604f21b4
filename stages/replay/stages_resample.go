package replay

import (
	"context"

	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Policies in stages are replayed on a quarter of the redrawn profiles, and on a
// quarter of the draws: an evaluation takes ten times as long as one in two, or more.
const fewerResamples = 4

// resampleStages is resample for policies in stages, under the designs as they are
// stored. The donors stay as they are.
func (b *builder) resampleStages(ctx context.Context, job *dag.Job, known *policy.Donors, of pair.Pair, ratios []variance.Ratio, at seed.Seed) ([]variance.ProfileError, error) {
	p, err := of.Profile(job)
	if err != nil {
		return nil, err
	}
	s := &stagesReplay{profile: p, known: known, ps: probabilities(p), at: at}
	if s.sources, err = b.sources(job, of, known); err != nil {
		return nil, err
	}
	for _, r := range ratios {
		d := variance.Design{NTasks: r.NTasks, Budget: r.Budget, M: *r.M}
		if r.W != nil {
			d.W = *r.W
		}
		s.runs = append(s.runs, &stagesRun{policy: b.policies.Find(r.Key()), design: d})
	}
	if err := s.renew(0); err != nil {
		return nil, err
	}
	return s.resample(ctx, ratios, max(2, b.Resamples/fewerResamples), max(2, b.ResampleDraws/fewerResamples))
}

// resample finds the errors of the ratios, in their order.
func (s *stagesReplay) resample(ctx context.Context, ratios []variance.Ratio, resamples, draws int) ([]variance.ProfileError, error) {
	errors := make([]pooled, len(s.runs))
	random := s.at.Child("profiles").Stream()
	groups := max(1, resamples/together)
	for g := range groups {
		var others []profile.Profile
		for range (g+1)*resamples/groups - g*resamples/groups {
			others = append(others, redrawn(s.profile, &random))
		}
		for k, r := range s.runs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			table, err := r.crossed(s.profile, others, draws, s.at.Child("draws").Index(g).Stream())
			if err != nil {
				return nil, err
			}
			errors[k].add(table)
		}
	}
	var rows []variance.ProfileError
	for k, r := range ratios {
		row := variance.ProfileError{
			Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks, Budget: r.Budget, Policy: r.Policy, Donors: r.Donors,
			ProfileSE: errors[k].spread(), Resamples: int32(resamples), Draws: int32(draws),
		}
		row.Shift, row.ShiftSE = errors[k].mean()
		rows = append(rows, row)
	}
	return rows, nil
}

// crossed is by how much the ratio of each redrawn profile is above the profile's own,
// draw by draw: all meet the same random numbers.
func (r *stagesRun) crossed(p profile.Profile, others []profile.Profile, draws int, random seed.Stream) (*crossed, error) {
	own, err := r.ratios(p, draws, random)
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
	return table, nil
}

// ratios are those of some draws on a profile.
func (r *stagesRun) ratios(p profile.Profile, draws int, random seed.Stream) ([]float64, error) {
	ps, all := probabilities(p), p.VarianceSum()
	ratios := make([]float64, draws)
	for draw := range ratios {
		own := random.At(uint64(draw))
		sum, err := r.trial.Run(ps, nil, &own)
		if err != nil {
			return nil, err
		}
		ratios[draw] = float64(r.design.Budget) * sum / all
	}
	return ratios, nil
}
