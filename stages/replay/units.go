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
	sortRows(b.policies, ratios, func(r variance.Ratio) rowKey { return rowKey{r.Benchmark, r.Model, r.Budget, r.Key()} })
}

// probabilities are a profile's task probabilities.
func probabilities(p profile.Profile) []float64 {
	ps := make([]float64, p.N())
	for i := range ps {
		ps[i] = p.P(i)
	}
	return ps
}

// choice is what a prior strength is chosen for.
type choice struct {
	policy policy.Key
	budget int32
}

// tune selects prior strengths in hindsight: of each policy that has one and at
// each budget that with the least variance ratio averaged over profiles, the
// smaller one if two are equal (paper, Eq. 22). It returns all rows but those of
// the other strengths, and the rows of every strength apart.
func tune(all []variance.Ratio) (ratios, strengths []variance.Ratio) {
	type strength struct {
		choice
		alpha float64
	}
	sums := map[strength]float64{}
	for _, r := range all {
		if r.Alpha != nil {
			strengths = append(strengths, r)
			sums[strength{choice{r.Key(), r.Budget}, *r.Alpha}] += r.VarianceRatio
		}
	}
	best := map[choice]float64{}
	for _, r := range strengths { // in order of the profiles, then of α
		c := choice{r.Key(), r.Budget}
		alpha, ok := best[c]
		sum, least := sums[strength{c, *r.Alpha}], sums[strength{c, alpha}]
		if !ok || sum < least || sum == least && *r.Alpha < alpha {
			best[c] = *r.Alpha
		}
	}
	for _, r := range all {
		if r.Alpha == nil || *r.Alpha == best[choice{r.Key(), r.Budget}] {
			ratios = append(ratios, r)
		}
	}
	return ratios, strengths
}

// selectedStrengths is the prior strengths that tune has kept.
func selectedStrengths(twoStage []variance.Ratio) map[choice]float64 {
	strengths := map[choice]float64{}
	for _, r := range twoStage {
		if r.Alpha != nil {
			strengths[choice{r.Key(), r.Budget}] = *r.Alpha
		}
	}
	return strengths
}

// What units take, in seconds of one core at the paper's precision, as measured
// in a run of the shipped experiment on the machine that dag compares others with.
// Plans, and the packing of units into jobs, go by them where a unit has never run. Those of designs stand with the policies.
const (
	profileSeconds  = 0.28
	resampleSeconds = 0.14
	stagesSeconds   = 3.3 // of 100 tasks

	stagesResampleSeconds = 0.18
	donorDesignSeconds    = 0.22 // of 100 tasks
	caseSeconds           = 1.4
	gatherSeconds         = 0.004 // a profile, of what only reads and sums up
	leastSeconds          = 0.02
	tsStepSeconds         = 2.5e-7

	paperDraws     = 8192
	paperResamples = 128 * 64
	paperCase      = 200_000
)

// ofDraws is what work takes that grows with the draws.
func (b *builder) ofDraws(seconds float64) float64 { return seconds * float64(b.Draws) / paperDraws }

// tsCost is what a trial takes: so many steps of TS-Neyman as there are rollouts
// in its trajectories.
func (b *builder) tsCost(pairs []pair.Pair, task tsTask) float64 {
	steps := 0.0
	for _, p := range pairs {
		for _, warm := range task.warmStarts {
			trajectories := 0
			spans := task.spans(warm, p.N())
			for k := len(spans) - 1; k >= 0; k-- { // those of a larger budget pass by the smaller
				steps += float64(p.N() * spans[k].budget * (spans[k].draws - trajectories))
				trajectories = spans[k].draws
			}
		}
	}
	return tsStepSeconds * steps
}

// finalCost is what a candidate's further trajectories take on average: most
// candidates are no finalists, and the finalists of the budgets are about the same.
func (b *builder) finalCost(task tsTask) float64 {
	ts := b.TSNeyman
	candidates := len(ts.Alphas) * len(ts.WarmStarts)
	finalists := min(candidates, ts.Finalists)
	return b.tsCost(b.pairs, task) * float64(finalists) / float64(candidates)
}

// sources reads the profiles that donors of a profile are counted on, or drawn from:
// its siblings', or its own.
func (b *builder) sources(job *dag.Job, of pair.Pair, known *policy.Donors) ([]profile.Profile, error) {
	pairs := []pair.Pair{of}
	switch {
	case known == policy.None:
		return nil, nil
	case known.Siblings:
		pairs = pair.Siblings(b.pairs, of)
	}
	var all []profile.Profile
	for _, p := range pairs {
		source, err := p.Profile(job)
		if err != nil {
			return nil, err
		}
		all = append(all, source)
	}
	return all, nil
}

// inStages is the policies that have some donors and decide stage by stage.
func (b *builder) inStages(known *policy.Donors) policy.List {
	return slices.DeleteFunc(slices.Clone(b.policies), func(p *policy.Policy) bool {
		return p.InStages == nil || p.Donors != known
	})
}
