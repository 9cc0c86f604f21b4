package replay

import (
	"context"
	"slices"

	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Keys of the configuration that the errors of profiles read.
const (
	keyResamples     = "replay.resamples"
	keyResampleDraws = "replay.resample_draws"
)

// resampleID is the unit that redraws a profile.
func resampleID(p pair.Pair) string { return "resample/" + p.Name() }

// resampleUnits are those of the errors that come from the profiles.
func (b *builder) resampleUnits() []dag.Unit {
	gather := dag.Unit{ID: "profile_errors", Outputs: []string{variance.ErrorsFile}, Provenance: "computed"}
	var units []dag.Unit
	for _, p := range b.pairs {
		units = append(units, b.resampleUnit(p))
		gather.Needs = append(gather.Needs, dag.Ref{Stage: name, Unit: resampleID(p)})
		for _, known := range b.counted() {
			units = append(units, b.stagesResampleUnit(known, p))
			gather.Needs = append(gather.Needs, dag.Ref{Stage: name, Unit: stagesResampleID(known, p)})
		}
	}
	gather.Run = func(_ context.Context, job *dag.Job) error {
		all, err := ofEachPair[variance.ProfileError](job, b.pairs, func(p pair.Pair) string { return partFile(resampleID(p)) })
		if err != nil {
			return err
		}
		for _, known := range b.counted() {
			more, err := ofEachPair[variance.ProfileError](job, b.pairs, func(p pair.Pair) string { return partFile(stagesResampleID(known, p)) })
			if err != nil {
				return err
			}
			all = append(all, more...)
		}
		sortRows(b.policies, all, func(e variance.ProfileError) place { return place{e.Benchmark, e.Model, e.Budget, e.Key()} })
		return writeRows(job, variance.ErrorsFile, "profile_errors.v2", all)
	}
	return append(units, gather)
}

// resampleUnit finds the errors of one profile's ratios under the designs as
// they are stored. There are none where the profile is degenerate.
func (b *builder) resampleUnit(of pair.Pair) dag.Unit {
	id := resampleID(of)
	u := b.unit(id, b.Slice(keySeed, keyOrder, keyResamples, keyResampleDraws))
	u.Cost = resampleSeconds * float64(b.Resamples*b.ResampleDraws) / paperResamples
	u.Needs = []dag.Ref{twoStageRef}
	of.Feed(&u)
	at := b.seeded(&u)
	u.Run = func(ctx context.Context, job *dag.Job) error {
		var rows []variance.ProfileError
		p, ratios, prior, err := b.underDesigns(job, of)
		if err == nil && len(ratios) > 0 {
			rows, err = resample(ctx, b.policies, p, ratios, prior, b.Resamples, b.ResampleDraws, at)
		}
		if err != nil {
			return err
		}
		return writeRows(job, partFile(id), "profile_errors.v2", rows)
	}
	return u
}

// underDesigns reads what there is to work with on one profile under the designs
// as they are stored: it, its ratios, none if it is degenerate, and the prior.
func (b *builder) underDesigns(job *dag.Job, of pair.Pair) (p profile.Profile, ratios []variance.Ratio, prior *neyman.Prior, err error) {
	if p, err = of.Profile(job); err != nil {
		return p, nil, nil, err
	}
	if ratios, err = twoStageRatios(job, of); err != nil {
		return p, nil, nil, err
	}
	prior, err = neyman.NewPrior(b.QuadratureOrder)
	return p, ratios, prior, err
}

// twoStageRatios are a pair's rows of the unit two_stage, none if its profile is
// degenerate.
func twoStageRatios(job *dag.Job, of pair.Pair) ([]variance.Ratio, error) {
	all, err := readRows[variance.Ratio](job, variance.TwoStageFile)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r variance.Ratio) bool {
		return r.Benchmark != of.Benchmark || r.Model != of.Model
	}), nil
}
