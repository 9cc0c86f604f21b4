package replay

import (
	"context"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/trial"
	"speceval/internal/variance"
	"speceval/method/informed"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// A design for a profile is made of so many replicates of panels, at the paper's
// draws, and of a few panels at least.
const (
	donorReplicates = 4
	donorPanels     = 16
	fewestPanels    = 4
)

// onDonors is the policies with some donors that have a design for each profile.
func (b *builder) onDonors(known *policy.Donors) policy.List {
	return slices.DeleteFunc(b.inStages(known), func(p *policy.Policy) bool { return !p.Design.OnDonors })
}

// onDonorsID is the unit of the estimates for one profile.
func onDonorsID(known *policy.Donors, of pair.Pair) string {
	return "design/" + known.Name + "/" + of.Name()
}

// onDonorsPart is where it keeps those of one policy.
func onDonorsPart(p *policy.Policy, of pair.Pair) string {
	return partFile("design/" + p.Donors.Name + "/" + p.Name + "/" + of.Name())
}

// onDonorsUnit estimates the coefficients of the policies with some donors for one
// profile, on panels of the prior that the donors inform. Where these are drawn anew,
// the design is for a draw of its own, and serves all others. A profile without siblings
// has no donors to be informed by, and a note says so. There are no estimates where it
// is degenerate.
func (b *builder) onDonorsUnit(known *policy.Donors, of pair.Pair) dag.Unit {
	u := b.unit(onDonorsID(known, of), b.Slice(keySeed, keyBudgets, keyDraws))
	u.Cost = donorDesignSeconds * float64(of.N()) / 100
	u.Outputs = nil
	for _, p := range b.onDonors(known) {
		u.Outputs = append(u.Outputs, onDonorsPart(p, of))
	}
	b.feed(&u, known, of)
	at := b.seeded(&u)
	u.Run = func(ctx context.Context, job *dag.Job) error {
		p, err := of.Profile(job)
		if err != nil {
			return err
		}
		sources, err := b.sources(job, of, known)
		if err != nil {
			return err
		}
		if known.Siblings && len(sources) == 0 {
			job.Note("%s has no siblings: policies that would know them know nothing", of.Name())
		}
		for _, policy := range b.onDonors(known) {
			var rows []coefficient
			if p.VarianceSum() > 0 {
				if rows, err = b.estimateOnDonors(ctx, policy, p, sources, at); err != nil {
					return err
				}
			}
			if err := writeRows(job, onDonorsPart(policy, of), "coefficients.v1", rows); err != nil {
				return err
			}
		}
		return nil
	}
	return u
}

// estimateOnDonors is the estimates of one policy, of every candidate.
func (b *builder) estimateOnDonors(ctx context.Context, of *policy.Policy, p profile.Profile, sources []profile.Profile, at seed.Seed) ([]coefficient, error) {
	random := at.Child("donors").Stream()
	known, err := of.Donors.Count(p, sources, &random)
	if err != nil {
		return nil, err
	}
	prior, err := informed.New(p.N(), known)
	if err != nil {
		return nil, err
	}
	cs := trial.Candidates(b.Budgets)
	panels := max(fewestPanels, donorPanels*b.Draws/paperDraws)
	estimates := newGathered(cs, donorReplicates)
	for replicate := range donorReplicates {
		one, err := trial.Coefficients(ctx, prior, cs, of.InStages.After, panels, at.Child("panels").Index(replicate).Stream())
		if err != nil {
			return nil, err
		}
		for k, c := range one {
			estimates[k][replicate] = c
		}
	}
	var rows []coefficient
	for k, c := range cs {
		rows = append(rows, coefficientRows(c, nil, estimates[k], 0)...)
	}
	return rows, nil
}

// designsOnDonors is a policy's designs for each profile, none if it has no such.
func (b *builder) designsOnDonors(job *dag.Job, p *policy.Policy) ([]variance.Design, error) {
	if !p.Design.OnDonors {
		return nil, nil
	}
	var all []variance.Design
	cs := trial.Candidates(b.Budgets)
	for _, of := range b.pairs {
		estimates, err := readRows[coefficient](job, onDonorsPart(p, of))
		if err != nil {
			return nil, err
		}
		if len(estimates) == 0 {
			continue
		}
		g := newGathered(cs, donorReplicates)
		if err := g.add(cs, estimates, 1); err != nil {
			return nil, err
		}
		rows := designs(p.Key(), of.N(), nil, cs, g)
		for i := range rows {
			rows[i].Benchmark, rows[i].Model = &of.Benchmark, &of.Model
		}
		divide(rows, p)
		all = append(all, rows...)
	}
	return all, nil
}
