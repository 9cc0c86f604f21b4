package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/internal/store/group"
	"speceval/internal/store/profile"
	"speceval/method/informed"
	"speceval/method/staged"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// coefficient is a row of a design unit's output: one estimate of the
// continuation coefficient C, the expected Σ v/L over Σ v, of a candidate.
type coefficient struct {
	Alpha       *float64 `parquet:"alpha"` // prior strength; null where there is none
	Budget      int32    `parquet:"budget"`
	M           int32    `parquet:"m"`
	Replicate   int32    `parquet:"replicate"` // replicate of a design, or batch of draws
	Coefficient float64  `parquet:"coefficient"`
}

const coefficientSchema = "coefficients.v1"

// coefficientRows are estimates, [candidate][replicate], of replicate first and on.
func coefficientRows(cs pilot.Candidates, alpha *float64, estimates [][]float64, first int) []coefficient {
	var rows []coefficient
	for k, c := range cs {
		for r, estimate := range estimates[k] {
			rows = append(rows, coefficient{alpha, int32(c.Budget), int32(c.M), int32(first + r), estimate})
		}
	}
	return rows
}

// designed is the policies that have designs, in the order of
// variance.DesignsFile: HBN, which the others are held against, comes first.
func designed() policy.List {
	others := slices.DeleteFunc(slices.Clone(policy.All), func(p *policy.Policy) bool { return p == policy.HBN || !p.HasDesign() })
	return append(policy.List{policy.HBN}, others...)
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

// estimate is a unit that estimates coefficients, and what designs it is for.
type estimate struct {
	dag.Unit
	policies   policy.List // of its outputs
	tasks      int
	on         *pair.Pair // the profile that the estimates are on; nil: panels of the reference prior
	alone      bool       // the designs are for that profile alone, not for all with as many tasks
	replicates int        // of the design
}

// estimates are the units that estimate continuation coefficients.
func (b *builder) estimates() (all []estimate) {
	for _, tasks := range b.sizes {
		for replicate := range b.Replicates {
			for _, p := range designed() {
				if p.Design.OnPanels != nil {
					all = append(all, b.onPanels(p, tasks, replicate))
				}
			}
		}
	}
	for i := range b.pairs {
		for _, p := range designed() {
			if p.Design.OnProfile != nil {
				all = append(all, b.onItsProfile(p, &b.pairs[i]))
			}
		}
		for _, known := range knowing() {
			if len(onDonors(known)) > 0 {
				all = append(all, b.onDonorsPrior(known, &b.pairs[i]))
			}
		}
	}
	return all
}

// estimateUnit is a unit that estimates coefficients for a design, and its settings.
func (b *builder) estimateUnit(at string, p *policy.Policy, tasks int) (dag.Unit, policy.Panels) {
	panels := policy.Panels{
		Candidates: b.candidates(p), Tasks: tasks, Draws: b.Draws, Order: b.QuadratureOrder, Alphas: b.Alphas, Even: b.EvenPanels,
	}
	u := b.unit("design/"+p.Design.Unit+"/"+at, append([]string{keySeed, keyBudgets, keyDraws}, p.Design.Keys...))
	u.Cost = p.Design.Seconds(panels)
	return u, panels
}

// onPanels estimates a policy's coefficients in one replicate for one task
// count, for all prior strengths.
func (b *builder) onPanels(p *policy.Policy, tasks, replicate int) estimate {
	u, panels := b.estimateUnit(fmt.Sprintf("n=%d/replicate=%d", tasks, replicate), p, tasks)
	at := b.branch(u.ID)
	u.Seed = at.Label()
	u.Run = func(ctx context.Context, job *dag.Job) error {
		estimates, err := p.Design.OnPanels(ctx, panels, at.Stream())
		if err != nil {
			return err
		}
		var rows []coefficient
		for a, alpha := range b.strengths(p) {
			rows = append(rows, coefficientRows(panels.Candidates, alpha, estimates[a], replicate)...)
		}
		return dag.WriteRows(job, u.Outputs[0], coefficientSchema, rows)
	}
	return estimate{Unit: u, policies: policy.List{p}, tasks: tasks, replicates: b.Replicates}
}

// onItsProfile estimates a policy's coefficients on one profile, in batches of
// draws.
func (b *builder) onItsProfile(p *policy.Policy, of *pair.Pair) estimate {
	u, _ := b.estimateUnit(of.Name(), p, of.N())
	b.onProfile(&u, *of, policy.None, rowsOf(u.Outputs[0], coefficientSchema,
		func(ctx context.Context, _ *dag.Job, known profile.Profile, at seed.Seed) ([]coefficient, error) {
			estimates, err := p.Design.OnProfile(ctx, probabilities(known), b.cs, b.Draws, at.Stream())
			if err != nil {
				return nil, err
			}
			return coefficientRows(b.cs, nil, estimates, 0), nil
		}))
	return estimate{Unit: u, policies: policy.List{p}, tasks: of.N(), on: of, replicates: policy.Batches(b.Draws)}
}

// Sizes of a design for a profile: its replicates of panels, at the paper's draws, and the
// least numbers of panels.
const (
	donorReplicates = 4
	paperPanels     = 9
	fewestPanels    = 4
)

// donorPanels are the panels of a replicate.
func (b *builder) donorPanels() int { return max(fewestPanels, paperPanels*b.Draws/paperDraws) }

// onDonors is the policies with some donors that have a design for each profile.
func onDonors(known *policy.Donors) policy.List {
	return slices.DeleteFunc(inStages(known), func(p *policy.Policy) bool { return !p.Design.OnDonors })
}

// onDonorsPrior estimates the coefficients of the policies with some donors for one
// profile, on panels of the prior that the donors inform. Where these are drawn anew,
// the design is for a draw of its own, and serves all others. A profile without siblings
// has no donors to be informed by, and a note says so.
func (b *builder) onDonorsPrior(known *policy.Donors, of *pair.Pair) estimate {
	u, policies := b.unit("design/"+known.Name+"/"+of.Name(), []string{keySeed, keyBudgets, keyDraws}), onDonors(known)
	u.Cost = donorDesignSeconds * float64(of.N()*b.donorPanels()) * b.stagesWork()
	u.Outputs = nil
	for _, p := range policies {
		u.Outputs = append(u.Outputs, partFile("design/"+known.Name+"/"+p.Name+"/"+of.Name()))
	}
	b.onProfile(&u, *of, known, func(ctx context.Context, job *dag.Job, p profile.Profile, at seed.Seed) error {
		sources, err := b.sources(job, *of, known)
		if err != nil {
			return err
		}
		if known.Siblings && len(sources) == 0 {
			job.Note("%s has no siblings: policies that would know them know nothing", of.Name())
		}
		var estimates [][][]float64
		if p.VarianceSum() > 0 {
			if estimates, err = b.estimateOnDonors(ctx, known, p, sources, at); err != nil {
				return err
			}
		}
		for k, p := range policies {
			var rows []coefficient
			if estimates != nil {
				rows = coefficientRows(b.candidates(p), nil, estimates[k], 0)
			}
			if err := dag.WriteRows(job, u.Outputs[k], coefficientSchema, rows); err != nil {
				return err
			}
		}
		return nil
	})
	return estimate{u, policies, of.N(), of, true, donorReplicates}
}

// estimateOnDonors is the estimates of the policies, of every candidate. All have the same.
func (b *builder) estimateOnDonors(ctx context.Context, known *policy.Donors, p profile.Profile, sources []profile.Profile, at seed.Seed) ([][][]float64, error) {
	random := at.Child("donors").Stream()
	prior, err := known.Prior(p, sources, pilot.InTurn(&random))
	if err != nil {
		return nil, err
	}
	var after []int
	var replicates []seed.Stream
	for _, of := range onDonors(known) {
		after = append(after, of.InStages.After)
	}
	for k := range donorReplicates {
		replicates = append(replicates, at.Child("panels").Index(k).Stream())
	}
	return pilot.StagedCoefficients(ctx, informed.Suite{prior}, staged.Plan{}, b.candidates(onDonors(known)[0]), after, b.donorPanels(), replicates)
}

// designsUnit selects the designs of all policies from the estimates, which units make.
func (b *builder) designsUnit(estimates []estimate, units []dag.Unit) dag.Unit {
	u := b.gather(designsID, []string{keyBudgets, "replay.replicates", keyAlphas}, []string{variance.DesignsFile, partFile(selectedID)}, units...)
	for _, p := range designed() {
		if as := p.Design.As; as != nil { // a design without estimates of its own to make the unit stale
			u.Config["policy."+p.Key().String()] = "designs of " + as.Key().String()
		}
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		var rows []variance.Design
		for _, p := range designed() {
			for _, same := range ofDesigns(estimates, p) {
				more, err := b.selected(job, p, same)
				if err != nil {
					return err
				}
				rows = append(rows, more...)
			}
		}
		for _, p := range designed() {
			if p.Design.As == nil {
				continue
			}
			for _, d := range designsFor(rows, p.Design.As) {
				if d.Selected {
					d.Policy, d.Donors = p.Name, p.Donors.Name
					rows = append(rows, d)
				}
			}
		}
		if err := dag.WriteRows(job, variance.DesignsFile, designSchema, rows); err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(d variance.Design) bool { return !d.Selected })
		return dag.WriteRows(job, partFile(selectedID), designSchema, rows)
	}
	return u
}

// ofDesigns is a policy's estimates by the design that they are for: for all profiles with as
// many tasks, in rising order, or for one.
func ofDesigns(all []estimate, p *policy.Policy) [][]estimate {
	own := slices.DeleteFunc(slices.Clone(all), func(e estimate) bool { return !slices.Contains(e.policies, p) })
	slices.SortStableFunc(own, func(a, b estimate) int {
		if a.alone {
			return 0
		}
		return cmp.Compare(a.tasks, b.tasks)
	})
	return group.By(own, func(e estimate) any {
		if e.alone {
			return e.ID
		}
		return e.tasks
	})
}

// selected is a policy's designs by the estimates for them, one prior strength after the other.
// Estimates on profiles are pooled (paper, Eq. 17), and there are none on degenerate ones: no
// designs where all are.
func (b *builder) selected(job *dag.Job, p *policy.Policy, from []estimate) ([]variance.Design, error) {
	like := from[0]
	var estimates [][]coefficient
	for _, e := range from {
		rows, err := dag.ReadRows[coefficient](job, e.Outputs[slices.Index(e.policies, p)])
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 || e.on == nil {
			estimates = append(estimates, rows)
		}
	}
	if len(estimates) == 0 {
		return nil, nil
	}
	share := 1.0
	if like.on != nil {
		share /= float64(len(estimates))
	}
	cs, strengths := b.candidates(p), b.strengths(p)
	g := make([][]float64, len(strengths)*len(cs)) // in the order of the rows, by replicate
	for k := range g {
		g[k] = make([]float64, like.replicates)
	}
	for _, rows := range estimates {
		per := len(rows) / len(g)
		for i, row := range rows {
			g[i/per][row.Replicate] += share * row.Coefficient
		}
	}
	var all []variance.Design
	for a, alpha := range strengths {
		all = append(all, designs(p, like.tasks, alpha, cs, g[a*len(cs):(a+1)*len(cs)])...)
	}
	if like.alone {
		for i := range all {
			all[i].Benchmark, all[i].Model = &like.on.Benchmark, &like.on.Model
		}
	}
	return all, nil
}

// designs turns the continuation coefficients C of every candidate, estimated
// in independent replicates ([candidate][replicate]), into designs.
func designs(p *policy.Policy, tasks int, alpha *float64, cs pilot.Candidates, coefficients [][]float64) []variance.Design {
	var fractions *string // of what the pilot leaves, if not in one stage
	if p.InStages != nil && p.InStages.After != 1 {
		fractions = new(p.InStages.Text())
	}
	rows := make([]variance.Design, len(cs))
	for k, r := range pilot.Rate(cs, coefficients) {
		rows[k] = variance.Design{
			Policy: p.Name, Donors: p.Donors.Name, NTasks: int32(tasks), Budget: int32(r.Budget), Alpha: alpha,
			M: int32(r.M), W: r.Weight,
			Risk: r.Risk, RiskSE: r.RiskSE,
			Selected: r.Selected, Gap: r.Gap, GapSE: r.GapSE, Fractions: fractions,
		}
	}
	return rows
}

// designsFor is the designs of one policy.
func designsFor(all []variance.Design, of *policy.Policy) []variance.Design {
	return slices.DeleteFunc(slices.Clone(all), func(d variance.Design) bool { return d.Key() != of.Key() })
}
