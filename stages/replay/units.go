package replay

import (
	"context"
	"fmt"
	"slices"

	"speceval/internal/exante"
	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// hbnUnit estimates HBN's coefficients in one replicate for one task count.
func (b *builder) hbnUnit(tasks, replicate int) dag.Unit {
	id := designID("hbn", tasks, replicate)
	u := b.unit(id, b.Slice(keySeed, keyBudgets, keyDraws, keyOrder))
	u.Cost = b.ofDraws(hbnSeconds)
	random := b.seeded(&u).Stream()
	u.Run = func(ctx context.Context, job *dag.Job) error {
		prior, err := neyman.NewPrior(b.QuadratureOrder)
		if err != nil {
			return err
		}
		masses, err := exante.Masses(ctx, prior, b.cs, tasks, b.Draws, random)
		if err != nil {
			return err
		}
		rows := coefficientRows(b.cs, nil, normalized(masses, tasks, neyman.MeanVariance), replicate)
		return writeRows(job, partFile(id), "coefficients.v1", rows)
	}
	return u
}

// ibnUnit estimates IBN's coefficients in one replicate for one task count, for
// all prior strengths.
func (b *builder) ibnUnit(tasks, replicate int) dag.Unit {
	id := designID("ibn", tasks, replicate)
	u := b.unit(id, b.Slice(keySeed, keyBudgets, keyDraws, keyAlphas))
	u.Cost = b.ofDraws(ibnSeconds + ibnTaskSeconds*float64(tasks))
	random := b.seeded(&u).Stream()
	u.Run = func(ctx context.Context, job *dag.Job) error {
		all, err := ibnMasses(ctx, b.Alphas, b.cs, tasks, b.Draws, random)
		if err != nil {
			return err
		}
		var rows []coefficient
		for a, masses := range all {
			alpha := b.Alphas[a]
			estimates := normalized(masses, tasks, ibnMeanVariance(alpha))
			rows = append(rows, coefficientRows(b.cs, &alpha, estimates, replicate)...)
		}
		return writeRows(job, partFile(id), "coefficients.v1", rows)
	}
	return u
}

// normalized turns the masses B of one replicate into coefficients B/(N·v̄).
func normalized(masses []float64, tasks int, meanVariance float64) [][]float64 {
	estimates := make([][]float64, len(masses))
	for k, mass := range masses {
		estimates[k] = []float64{mass / (float64(tasks) * meanVariance)}
	}
	return estimates
}

// enUnit estimates EN's coefficients on one profile, in batches of draws.
func (b *builder) enUnit(of pair.Pair) dag.Unit {
	id := enID(of)
	u := b.unit(id, b.Slice(keySeed, keyBudgets, keyDraws))
	u.Cost = b.ofDraws(enSeconds)
	of.Feed(&u)
	random := b.seeded(&u).Stream()
	u.Run = func(ctx context.Context, job *dag.Job) error {
		p, err := of.Profile(job)
		if err != nil {
			return err
		}
		var rows []coefficient
		if p.VarianceSum() > 0 {
			estimates, err := enCoefficients(ctx, probabilities(p), b.cs, b.Draws, random)
			if err != nil {
				return err
			}
			rows = coefficientRows(b.cs, nil, estimates, 0)
		}
		return writeRows(job, partFile(id), "coefficients.v1", rows)
	}
	return u
}

// designsUnit selects the designs of all policies from the estimates of the
// given units.
func (b *builder) designsUnit(estimates []dag.Unit) dag.Unit {
	u := dag.Unit{
		ID: designsRef.Unit, Config: b.Slice(keyBudgets, keyReplicates, keyAlphas),
		Outputs: []string{variance.DesignsFile}, Provenance: "computed",
	}
	for _, e := range estimates {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: e.ID})
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		var rows []variance.Design
		for _, policy := range []func(*dag.Job, int) ([]variance.Design, error){b.hbnDesigns, b.enDesigns, b.ibnDesigns} {
			for _, tasks := range b.sizes {
				more, err := policy(job, tasks)
				if err != nil {
					return err
				}
				rows = append(rows, more...)
			}
		}
		return writeRows(job, variance.DesignsFile, "designs.v1", rows)
	}
	return u
}

func (b *builder) hbnDesigns(job *dag.Job, tasks int) ([]variance.Design, error) {
	g := newGathered(b.cs, b.Replicates)
	for replicate := range b.Replicates {
		if err := b.gather(job, designID("hbn", tasks, replicate), g); err != nil {
			return nil, err
		}
	}
	return designs(variance.HBN, tasks, nil, b.cs, g), nil
}

// enDesigns pools the coefficients of all profiles with the same task count
// (paper, Eq. 17). There are none where all of these are degenerate.
func (b *builder) enDesigns(job *dag.Job, tasks int) ([]variance.Design, error) {
	var group [][]coefficient
	for _, p := range b.pairs {
		if p.N() != tasks {
			continue
		}
		rows, err := readRows[coefficient](job, partFile(enID(p)))
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			group = append(group, rows)
		}
	}
	if len(group) == 0 {
		return nil, nil
	}
	g := newGathered(b.cs, min(batches, b.Draws))
	for _, rows := range group {
		if err := g.add(b.cs, rows, 1/float64(len(group))); err != nil {
			return nil, fmt.Errorf("EN's estimates for %d tasks: %w", tasks, err)
		}
	}
	return designs(variance.TunedEN, tasks, nil, b.cs, g), nil
}

func (b *builder) ibnDesigns(job *dag.Job, tasks int) ([]variance.Design, error) {
	gs := make([]gathered, len(b.Alphas))
	for a := range gs {
		gs[a] = newGathered(b.cs, b.Replicates)
	}
	for replicate := range b.Replicates {
		if err := b.gather(job, designID("ibn", tasks, replicate), gs...); err != nil {
			return nil, err
		}
	}
	var rows []variance.Design
	for a, g := range gs {
		rows = append(rows, designs(variance.TunedIBN, tasks, &b.Alphas[a], b.cs, g)...)
	}
	return rows, nil
}

// gather adds a unit's estimates to the given coefficients, of one prior
// strength after the other.
func (b *builder) gather(job *dag.Job, id string, into ...gathered) error {
	rows, err := readRows[coefficient](job, partFile(id))
	if err != nil {
		return err
	}
	for i, g := range into {
		part := rows[i*len(rows)/len(into) : (i+1)*len(rows)/len(into)]
		if err := g.add(b.cs, part, 1); err != nil {
			return fmt.Errorf("%s: %w", partFile(id), err)
		}
	}
	return nil
}

// profileUnit replays every policy on one profile; all of IBN's prior strengths
// are replayed, each with its own design, and held against HBN.
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
		all, err := readRows[variance.Design](job, variance.DesignsFile)
		if err != nil {
			return err
		}
		selected := slices.DeleteFunc(all, func(d variance.Design) bool {
			return !d.Selected || int(d.NTasks) != p.N()
		})
		prior, err := neyman.NewPrior(b.QuadratureOrder)
		if err != nil {
			return err
		}
		ratios, differences, err := replay(ctx, p, selected, prior, b.Draws, random)
		if err != nil {
			return err
		}
		return writeReplay(job, of, ratios, differences)
	}
	return u
}

// writeReplay writes what the replay of a profile gives.
func writeReplay(job *dag.Job, of pair.Pair, ratios []variance.Ratio, differences []variance.Difference) error {
	if err := writeRows(job, partFile(profileID(of)), "ratios.v1", ratios); err != nil {
		return err
	}
	return writeRows(job, differencesPart(of), "differences.v1", differences)
}

// twoStageUnit gathers the ratios of all profiles and keeps, of IBN, the prior
// strength with the least mean at each budget (paper, Eq. 22).
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
		ratios, strengths := tuneIBN(all)
		inOrder(ratios)
		inOrder(strengths)
		if err := writeRows(job, variance.TwoStageFile, "ratios.v1", ratios); err != nil {
			return err
		}
		return writeRows(job, variance.CandidatesFile, "ratios.v1", strengths)
	}
	return u
}

// ratiosUnit gathers the ratios of all policies.
func (b *builder) ratiosUnit() dag.Unit {
	u := dag.Unit{
		ID: ratiosRef.Unit, Needs: []dag.Ref{twoStageRef, tsRef},
		Outputs: []string{variance.RatiosFile}, Provenance: "computed",
	}
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
		inOrder(ratios)
		return writeRows(job, variance.RatiosFile, "ratios.v1", ratios)
	}
	return u
}

// inOrder sorts ratios by profile, budget, policy and prior strength.
func inOrder(ratios []variance.Ratio) {
	sortRows(ratios, func(r variance.Ratio) place { return place{r.Benchmark, r.Model, r.Budget, r.Policy} })
}

// probabilities are a profile's task probabilities.
func probabilities(p profile.Profile) []float64 {
	ps := make([]float64, p.N())
	for i := range ps {
		ps[i] = p.P(i)
	}
	return ps
}
