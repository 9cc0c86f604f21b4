package replay

import (
	"context"
	"fmt"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// profileUnit replays every policy on one profile; all prior strengths are
// replayed, each with its own design, and held against HBN.
func (b *builder) profileUnit(of pair.Pair) dag.Unit {
	id := profileID(of)
	u := b.unit(id, b.Slice(keySeed, keyBudgets, keyDraws, keyOrder))
	u.Cost = b.ofDraws(profileSeconds)
	u.Outputs = append(u.Outputs, differencesPart(of))
	u.Needs = []dag.Ref{designsRef}
	of.Feed(&u)
	random := b.seeded(&u).Stream()
	u.Run = func(ctx context.Context, job *dag.Job) error {
		p, err := of.Profile(job)
		if err != nil {
			return err
		}
		if p.VarianceSum() == 0 {
			return writeReplay(job, of, nil, nil)
		}
		selected, err := selectedDesigns(job, p.N())
		if err != nil {
			return err
		}
		selected = slices.DeleteFunc(selected, func(d variance.Design) bool { return !b.inTwoStages(d.Key()) })
		prior, err := neyman.NewPrior(b.QuadratureOrder)
		if err != nil {
			return err
		}
		ratios, differences, err := replay(ctx, b.policies, p, selected, prior, b.Draws, random)
		if err != nil {
			return err
		}
		return writeReplay(job, of, ratios, differences)
	}
	return u
}

// selectedDesigns is the designs for a number of tasks.
func selectedDesigns(job *dag.Job, tasks int) ([]variance.Design, error) {
	all, err := readRows[variance.Design](job, variance.DesignsFile)
	return slices.DeleteFunc(all, func(d variance.Design) bool { return !d.Selected || int(d.NTasks) != tasks }), err
}

// inTwoStages reports whether a policy is one of those that are replayed together.
func (b *builder) inTwoStages(of policy.Key) bool {
	p := b.policies.Find(of)
	return p == nil || p.TwoStage != nil
}

// writeReplay writes what the replay of a profile gives.
func writeReplay(job *dag.Job, of pair.Pair, ratios []variance.Ratio, differences []variance.Difference) error {
	if err := writeRows(job, partFile(profileID(of)), "ratios.v2", ratios); err != nil {
		return err
	}
	return writeRows(job, differencesPart(of), "differences.v2", differences)
}

// twoStageUnit gathers the ratios of all profiles and keeps the prior strength
// with the least mean at each budget (paper, Eq. 22).
func (b *builder) twoStageUnit() dag.Unit {
	u := dag.Unit{ID: twoStageRef.Unit, Outputs: []string{variance.TwoStageFile, variance.CandidatesFile}, Provenance: "computed"}
	for _, p := range b.pairs {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: profileID(p)})
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		all, err := ofEachPair[variance.Ratio](job, b.pairs, func(p pair.Pair) string { return partFile(profileID(p)) })
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fmt.Errorf("none of the %d profiles can be evaluated: a profile needs a task that some rollouts pass and others fail", len(b.pairs))
		}
		ratios, strengths := tune(all)
		b.inOrder(ratios)
		b.inOrder(strengths)
		if err := writeRows(job, variance.TwoStageFile, "ratios.v2", ratios); err != nil {
			return err
		}
		return writeRows(job, variance.CandidatesFile, "ratios.v2", strengths)
	}
	return u
}

// ratiosUnit gathers the ratios of all policies.
func (b *builder) ratiosUnit() dag.Unit {
	u := dag.Unit{
		ID: ratiosRef.Unit, Needs: []dag.Ref{twoStageRef, tsRef},
		Outputs: []string{variance.RatiosFile}, Provenance: "computed",
	}
	u.Needs = append(u.Needs, b.stagesRefs()...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		ratios, err := readRows[variance.Ratio](job, variance.TwoStageFile)
		if err != nil {
			return err
		}
		sequential, err := readRows[variance.Ratio](job, tsRatiosFile)
		if err != nil {
			return err
		}
		ratios = append(ratios, sequential...)
		for _, known := range b.knowing() {
			more, err := ofEachPair[variance.Ratio](job, b.pairs, func(p pair.Pair) string { return partFile(stagesID(known, p)) })
			if err != nil {
				return err
			}
			ratios = append(ratios, more...)
		}
		b.inOrder(ratios)
		return writeRows(job, variance.RatiosFile, "ratios.v2", ratios)
	}
	return u
}

// inOrder sorts ratios by profile, budget, policy and prior strength.
func (b *builder) inOrder(ratios []variance.Ratio) {
	sortRows(b.policies, ratios, func(r variance.Ratio) place { return place{r.Benchmark, r.Model, r.Budget, r.Key()} })
}

// probabilities are a profile's task probabilities.
func probabilities(p profile.Profile) []float64 {
	ps := make([]float64, p.N())
	for i := range ps {
		ps[i] = p.P(i)
	}
	return ps
}
