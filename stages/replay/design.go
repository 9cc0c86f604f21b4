package replay

import (
	"context"
	"fmt"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
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

// gather adds a share of each row of coefficientRows to what has been gathered.
func gather(g [][]float64, rows []coefficient, share float64) {
	per := len(rows) / len(g)
	for i, row := range rows {
		g[i/per][row.Replicate] += share * row.Coefficient
	}
}

// designed is the policies that have designs, in the order of
// variance.DesignsFile: HBN, which the others are held against, comes first.
func designed() policy.List {
	var first, others policy.List
	for _, p := range policy.All {
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

// estimateUnits are the units that estimate continuation coefficients.
func (b *builder) estimateUnits() []dag.Unit {
	var units []dag.Unit
	for _, tasks := range b.sizes {
		for replicate := range b.Replicates {
			for _, p := range designed() {
				if p.Design.OnPanels != nil {
					units = append(units, b.panelsUnit(p, tasks, replicate))
				}
			}
		}
	}
	for _, of := range b.pairs {
		for _, p := range designed() {
			if p.Design.OnProfile != nil {
				units = append(units, b.onProfileUnit(p, of))
			}
		}
		for _, known := range knowing() {
			if len(onDonors(known)) > 0 {
				units = append(units, b.onDonorsUnit(known, of))
			}
		}
	}
	return units
}

// estimateUnit is a unit that estimates coefficients for a design.
func (b *builder) estimateUnit(id string, d policy.Design, tasks int) dag.Unit {
	u := b.unit(id, append([]string{keySeed, keyBudgets, keyDraws}, d.Keys...))
	u.Cost = b.ofDraws(d.Seconds(tasks))
	return u
}

// panelsID is the unit of one replicate of a policy's estimates.
func panelsID(p *policy.Policy, tasks, replicate int) string {
	return fmt.Sprintf("design/%s/n=%d/replicate=%d", p.Design.Unit, tasks, replicate)
}

// panelsUnit estimates a policy's coefficients in one replicate for one task
// count, for all prior strengths.
func (b *builder) panelsUnit(p *policy.Policy, tasks, replicate int) dag.Unit {
	u := b.estimateUnit(panelsID(p, tasks, replicate), p.Design, tasks)
	at := b.branch(u.ID)
	u.Seed = at.Label()
	u.Run = func(ctx context.Context, job *dag.Job) error {
		panels := policy.Panels{
			Candidates: b.candidates(p), Tasks: tasks, Draws: b.Draws, Order: b.QuadratureOrder, Alphas: b.Alphas, Even: b.EvenPanels,
		}
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
	return u
}

// onProfileID is the unit of a policy's estimates on a profile.
func onProfileID(p *policy.Policy, of pair.Pair) string {
	return "design/" + p.Design.Unit + "/" + of.Name()
}

// onProfileUnit estimates a policy's coefficients on one profile, in batches of
// draws.
func (b *builder) onProfileUnit(p *policy.Policy, of pair.Pair) dag.Unit {
	u := b.estimateUnit(onProfileID(p, of), p.Design, of.N())
	b.onProfile(&u, of, policy.None, rowsOf(u.Outputs[0], coefficientSchema,
		func(ctx context.Context, _ *dag.Job, known profile.Profile, at seed.Seed) ([]coefficient, error) {
			estimates, err := p.Design.OnProfile(ctx, probabilities(known), b.cs, b.Draws, at.Stream())
			if err != nil {
				return nil, err
			}
			return coefficientRows(b.cs, nil, estimates, 0), nil
		}))
	return u
}

// Sizes of a design for a profile: its replicates of panels, at the paper's draws, and the
// least numbers of panels.
const (
	donorReplicates = 4
	donorPanels     = 9
	fewestPanels    = 4
)

// onDonors is the policies with some donors that have a design for each profile.
func onDonors(known *policy.Donors) policy.List {
	return slices.DeleteFunc(inStages(known), func(p *policy.Policy) bool { return !p.Design.OnDonors })
}

// onDonorsPart is where the estimates of one policy for a profile are kept.
func onDonorsPart(p *policy.Policy, of pair.Pair) string {
	return partFile("design/" + p.Donors.Name + "/" + p.Name + "/" + of.Name())
}

// onDonorsUnit estimates the coefficients of the policies with some donors for one
// profile, on panels of the prior that the donors inform. Where these are drawn anew,
// the design is for a draw of its own, and serves all others. A profile without siblings
// has no donors to be informed by, and a note says so.
func (b *builder) onDonorsUnit(known *policy.Donors, of pair.Pair) dag.Unit {
	u := b.unit("design/"+known.Name+"/"+of.Name(), []string{keySeed, keyBudgets, keyDraws})
	u.Cost = donorDesignSeconds * float64(of.N()) / 100
	u.Outputs = nil
	for _, p := range onDonors(known) {
		u.Outputs = append(u.Outputs, onDonorsPart(p, of))
	}
	b.onProfile(&u, of, known, func(ctx context.Context, job *dag.Job, p profile.Profile, at seed.Seed) error {
		sources, err := b.sources(job, of, known)
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
		for k, policy := range onDonors(known) {
			var rows []coefficient
			if estimates != nil {
				rows = coefficientRows(b.candidates(policy), nil, estimates[k], 0)
			}
			if err := dag.WriteRows(job, onDonorsPart(policy, of), coefficientSchema, rows); err != nil {
				return err
			}
		}
		return nil
	})
	return u
}

// estimateOnDonors is the estimates of the policies, of every candidate. All have the same.
func (b *builder) estimateOnDonors(ctx context.Context, known *policy.Donors, p profile.Profile, sources []profile.Profile, at seed.Seed) ([][][]float64, error) {
	random := at.Child("donors").Stream()
	prior, err := informedBy(known, p, sources, pilot.InTurn(&random))
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
	panels := max(fewestPanels, donorPanels*b.Draws/paperDraws)
	return pilot.StagedCoefficients(ctx, informed.Suite{prior}, staged.Plan{}, b.candidates(onDonors(known)[0]), after, panels, replicates)
}

// informedBy is the prior that the donors of a profile inform, as they are or drawn.
func informedBy(known *policy.Donors, p profile.Profile, sources []profile.Profile, draw pilot.Outcomes) (*informed.Prior, error) {
	donors, err := known.Count(p, sources, draw)
	if err != nil {
		return nil, err
	}
	return informed.New(p.N(), donors)
}

// designsUnit selects the designs of all policies from the estimates of the
// given units.
func (b *builder) designsUnit(estimates []dag.Unit) dag.Unit {
	u := b.gather(designsID, []string{keyBudgets, keyReplicates, keyAlphas}, []string{variance.DesignsFile, partFile(selectedID)})
	for _, e := range estimates {
		need(&u, []string{e.ID})
	}
	for _, p := range designed() {
		if as := p.Design.As; as != nil { // a design without estimates of its own to make the unit stale
			u.Config["policy."+p.Key().String()] = "designs of " + as.Key().String()
		}
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		var rows []variance.Design
		for _, p := range designed() {
			for _, s := range b.selections(p) {
				more, err := b.selected(job, p, s)
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

// selection is the input that a policy's designs are selected by, for all profiles with as
// many tasks or for one.
type selection struct {
	tasks      int
	of         *pair.Pair // nil: all profiles with as many tasks
	replicates int
	files      []string // of estimates
	profiles   bool     // estimates on profiles, pooled (paper, Eq. 17); none of degenerate ones
}

// selections are the selections of a policy, none if it has no estimates of its own.
func (b *builder) selections(p *policy.Policy) (all []selection) {
	for _, tasks := range b.sizes {
		switch {
		case p.Design.OnPanels != nil:
			s := selection{tasks: tasks, replicates: b.Replicates}
			for replicate := range b.Replicates {
				s.files = append(s.files, partFile(panelsID(p, tasks, replicate)))
			}
			all = append(all, s)
		case p.Design.OnProfile != nil:
			s := selection{tasks: tasks, replicates: policy.Batches(b.Draws), profiles: true}
			for _, of := range b.pairs {
				if of.N() == tasks {
					s.files = append(s.files, partFile(onProfileID(p, of)))
				}
			}
			all = append(all, s)
		}
	}
	if p.Design.OnDonors {
		for i, of := range b.pairs {
			all = append(all, selection{of.N(), &b.pairs[i], donorReplicates, []string{onDonorsPart(p, of)}, true})
		}
	}
	return all
}

// selected is a policy's designs, one prior strength after the other. There are none
// where all profiles are degenerate.
func (b *builder) selected(job *dag.Job, p *policy.Policy, s selection) ([]variance.Design, error) {
	var estimates [][]coefficient
	for _, file := range s.files {
		rows, err := dag.ReadRows[coefficient](job, file)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 || !s.profiles {
			estimates = append(estimates, rows)
		}
	}
	if len(estimates) == 0 {
		return nil, nil
	}
	share := 1.0
	if s.profiles {
		share /= float64(len(estimates))
	}
	var all []variance.Design
	cs, strengths := b.candidates(p), b.strengths(p)
	for a, alpha := range strengths {
		g := make([][]float64, len(cs))
		for k := range g {
			g[k] = make([]float64, s.replicates)
		}
		for _, rows := range estimates {
			gather(g, rows[a*len(rows)/len(strengths):(a+1)*len(rows)/len(strengths)], share)
		}
		all = append(all, designs(p, s.tasks, alpha, cs, g)...)
	}
	if s.of != nil {
		for i := range all {
			all[i].Benchmark, all[i].Model = &s.of.Benchmark, &s.of.Model
		}
	}
	return all, nil
}

// designs turns the continuation coefficients C of every candidate, estimated
// in independent replicates ([candidate][replicate]), into designs.
func designs(p *policy.Policy, tasks int, alpha *float64, cs pilot.Candidates, coefficients [][]float64) []variance.Design {
	var fractions *string // of what the pilot leaves, if not in one stage
	if p.InStages != nil && p.InStages.After != 1 {
		text := p.InStages.Text()
		fractions = &text
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

// selectedDesigns reads the selected designs for a number of tasks: a tenth of all.
func selectedDesigns(job *dag.Job, tasks int) ([]variance.Design, error) {
	all, err := dag.ReadRows[variance.Design](job, partFile(selectedID))
	return slices.DeleteFunc(all, func(d variance.Design) bool { return int(d.NTasks) != tasks }), err
}

// designsFor is the designs of one policy.
func designsFor(all []variance.Design, of *policy.Policy) []variance.Design {
	return slices.DeleteFunc(slices.Clone(all), func(d variance.Design) bool { return d.Key() != of.Key() })
}
