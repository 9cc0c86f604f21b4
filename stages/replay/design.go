package replay

import (
	"context"
	"fmt"
	"slices"

	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/informed"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// designed is the policies that have designs, in the order of
// variance.DesignsFile: HBN, which the others are held against, comes first.
func (b *builder) designed() policy.List {
	var first, others policy.List
	for _, p := range b.policies {
		switch {
		case p == policy.HBN:
			first = append(first, p)
		case p.HasDesign():
			others = append(others, p)
		}
	}
	return append(first, others...)
}

// candidates is the pilot sizes that a policy's designs are chosen from.
func (b *builder) candidates(p *policy.Policy) pilot.Candidates {
	if p.Design.Candidates == nil {
		return b.cs
	}
	return p.Design.Candidates(b.Budgets)
}

// strengths is the prior strengths that a policy is designed for, a single null
// if it has none.
func (b *builder) strengths(p *policy.Policy) []*float64 {
	if !p.Strength {
		return []*float64{nil}
	}
	var all []*float64
	for i := range b.Alphas {
		all = append(all, &b.Alphas[i])
	}
	return all
}

// estimateUnits are those that estimate continuation coefficients.
func (b *builder) estimateUnits() []dag.Unit {
	var units []dag.Unit
	for _, tasks := range b.sizes {
		for replicate := range b.Replicates {
			for _, p := range b.designed() {
				if p.Design.OnPanels != nil {
					units = append(units, b.panelsUnit(p, tasks, replicate))
				}
			}
		}
	}
	for _, of := range b.pairs {
		for _, p := range b.designed() {
			if p.Design.OnProfile != nil {
				units = append(units, b.onProfileUnit(p, of))
			}
		}
		for _, known := range b.knowing() {
			if len(b.onDonors(known)) > 0 {
				units = append(units, b.onDonorsUnit(known, of))
			}
		}
	}
	return units
}

// estimateUnit is a unit that estimates coefficients for a design.
func (b *builder) estimateUnit(id string, d policy.Design, tasks int) dag.Unit {
	u := b.unit(id, b.Slice(append([]string{keySeed, keyBudgets, keyDraws}, d.Keys...)...))
	u.Cost = b.ofDraws(d.Seconds(tasks))
	return u
}

// panelsUnit estimates a policy's coefficients in one replicate for one task
// count, for all prior strengths.
func (b *builder) panelsUnit(p *policy.Policy, tasks, replicate int) dag.Unit {
	d, id, cs := p.Design, panelsID(p, tasks, replicate), b.candidates(p)
	u := b.estimateUnit(id, d, tasks)
	random := b.seeded(&u).Stream()
	u.Run = func(ctx context.Context, job *dag.Job) error {
		estimates, err := d.OnPanels(ctx, policy.Panels{
			Candidates: cs, Tasks: tasks, Draws: b.Draws, Order: b.QuadratureOrder, Alphas: b.Alphas, Even: b.EvenPanels,
		}, random)
		if err != nil {
			return err
		}
		var rows []coefficient
		for a, alpha := range b.strengths(p) {
			for k, c := range cs {
				rows = append(rows, coefficientRows(c, alpha, estimates[a][k:k+1], replicate)...)
			}
		}
		return writeRows(job, partFile(id), "coefficients.v1", rows)
	}
	return u
}

// onProfileUnit estimates a policy's coefficients on one profile, in batches of
// draws. There are none where it is degenerate.
func (b *builder) onProfileUnit(p *policy.Policy, of pair.Pair) dag.Unit {
	d, id := p.Design, onProfileID(p, of)
	u := b.estimateUnit(id, d, of.N())
	of.Feed(&u)
	random := b.seeded(&u).Stream()
	u.Run = func(ctx context.Context, job *dag.Job) error {
		known, err := of.Profile(job)
		if err != nil {
			return err
		}
		var rows []coefficient
		if known.VarianceSum() > 0 {
			estimates, err := d.OnProfile(ctx, probabilities(known), b.cs, b.Draws, random)
			if err != nil {
				return err
			}
			for k, c := range b.cs {
				rows = append(rows, coefficientRows(c, nil, estimates[k], 0)...)
			}
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
	for _, p := range b.designed() {
		if as := p.Design.As; as != nil { // of which there are no estimates to make the unit stale
			u.Config["policy."+p.Key().String()] = "designs of " + as.Key().String()
		}
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		var rows []variance.Design
		for _, p := range b.designed() {
			for _, tasks := range b.sizes {
				more, err := b.designsOf(job, p, tasks)
				if err != nil {
					return err
				}
				rows = append(rows, more...)
			}
			more, err := b.designsOnDonors(job, p)
			if err != nil {
				return err
			}
			rows = append(rows, more...)
		}
		for _, p := range b.designed() {
			if as := p.Design.As; as != nil {
				rows = append(rows, taken(rows, as, p)...)
			}
		}
		return writeRows(job, variance.DesignsFile, "designs.v2", rows)
	}
	return u
}

// taken is the selected designs of one policy as another's.
func taken(rows []variance.Design, from, to *policy.Policy) []variance.Design {
	var own []variance.Design
	for _, d := range rows {
		if d.Key() == from.Key() && d.Selected {
			d.Policy, d.Donors = to.Name, to.Donors.Name
			own = append(own, d)
		}
	}
	return own
}

// designsOf is a policy's designs for a number of tasks, one prior strength after
// the other. There are none without estimates, as where all profiles of as many
// tasks are degenerate.
func (b *builder) designsOf(job *dag.Job, p *policy.Policy, tasks int) ([]variance.Design, error) {
	var all []gathered
	var err error
	switch d := p.Design; {
	case d.OnPanels != nil:
		all, err = b.fromPanels(job, p, tasks)
	case d.OnProfile != nil:
		all, err = b.fromProfiles(job, p, tasks)
	}
	var rows []variance.Design
	for a, g := range all {
		rows = append(rows, designs(p.Key(), tasks, b.strengths(p)[a], b.candidates(p), g)...)
	}
	divide(rows, p)
	return rows, err
}

// divide says how designs divide what the pilot leaves, if not in one stage.
func divide(rows []variance.Design, p *policy.Policy) {
	if p.InStages == nil || p.InStages.After == 1 {
		return
	}
	fractions := p.InStages.Text()
	for i := range rows {
		rows[i].Fractions = &fractions
	}
}

// fromPanels gathers the estimates of all replicates, by prior strength.
func (b *builder) fromPanels(job *dag.Job, p *policy.Policy, tasks int) ([]gathered, error) {
	all, cs := make([]gathered, len(b.strengths(p))), b.candidates(p)
	for a := range all {
		all[a] = newGathered(cs, b.Replicates)
	}
	for replicate := range b.Replicates {
		file := partFile(panelsID(p, tasks, replicate))
		rows, err := readRows[coefficient](job, file)
		if err != nil {
			return nil, err
		}
		for a, g := range all {
			part := rows[a*len(rows)/len(all) : (a+1)*len(rows)/len(all)]
			if err := g.add(cs, part, 1); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return all, nil
}

// fromProfiles pools the estimates on all profiles with the same task count
// (paper, Eq. 17); there are none where all of these are degenerate.
func (b *builder) fromProfiles(job *dag.Job, p *policy.Policy, tasks int) ([]gathered, error) {
	var group [][]coefficient
	for _, of := range b.pairs {
		if of.N() != tasks {
			continue
		}
		rows, err := readRows[coefficient](job, partFile(onProfileID(p, of)))
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
	g := newGathered(b.cs, policy.Batches(b.Draws))
	for _, rows := range group {
		if err := g.add(b.cs, rows, 1/float64(len(group))); err != nil {
			return nil, fmt.Errorf("estimates of %s for %d tasks: %w", p.Name, tasks, err)
		}
	}
	return []gathered{g}, nil
}

// designs turns the continuation coefficients C of every candidate, estimated
// in independent replicates ([candidate][replicate]), into designs.
func designs(of policy.Key, tasks int, alpha *float64, cs pilot.Candidates, coefficients [][]float64) []variance.Design {
	rows := make([]variance.Design, len(cs))
	for k, r := range pilot.Rate(cs, coefficients) {
		rows[k] = variance.Design{
			Policy: of.Name, Donors: of.Donors, NTasks: int32(tasks), Budget: int32(r.Budget), Alpha: alpha,
			M: int32(r.M), W: r.Weight,
			Risk: r.Risk, RiskSE: r.RiskSE,
			Selected: r.Selected, Gap: r.Gap, GapSE: r.GapSE,
		}
	}
	return rows
}

// onProfileID is the unit of a policy's estimates on a profile.
func onProfileID(p *policy.Policy, of pair.Pair) string {
	return "design/" + p.Design.Unit + "/" + of.Name()
}

// panelsID is the unit of one replicate of a policy's estimates.
func panelsID(p *policy.Policy, tasks, replicate int) string {
	return fmt.Sprintf("design/%s/n=%d/replicate=%d", p.Design.Unit, tasks, replicate)
}

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
	cs := pilot.StagedCandidates(b.Budgets)
	panels := max(fewestPanels, donorPanels*b.Draws/paperDraws)
	estimates := newGathered(cs, donorReplicates)
	for replicate := range donorReplicates {
		one, err := pilot.StagedCoefficients(ctx, prior, cs, of.InStages.After, panels, at.Child("panels").Index(replicate).Stream())
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
	cs := pilot.StagedCandidates(b.Budgets)
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
