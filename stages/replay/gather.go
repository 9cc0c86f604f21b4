package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// ofEachPair reads the rows of one output of each pair, in the pairs' order.
func ofEachPair[T any](job *dag.Job, pairs []pair.Pair, output func(pair.Pair) string) ([]T, error) {
	var all []T
	for _, p := range pairs {
		rows, err := dag.ReadRows[T](job, output(p))
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// withStages appends to rows the rows of the policies in stages, by donors and pair.
func withStages[T any](job *dag.Job, b *builder, rows []T, donors []*policy.Donors, output func(*policy.Donors, pair.Pair) string) ([]T, error) {
	for _, known := range donors {
		more, err := ofEachPair[T](job, b.pairs, func(p pair.Pair) string { return output(known, p) })
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// stagesIDs are the units of policies in stages, of some donors and all pairs.
func (b *builder) stagesIDs(donors []*policy.Donors, id func(*policy.Donors, pair.Pair) string) (all []string) {
	for _, known := range donors {
		all = append(all, b.ids(func(p pair.Pair) string { return id(known, p) })...)
	}
	return all
}

// rowKey is the key by which a file of all profiles is sorted.
type rowKey struct {
	benchmark, model string
	budget           int32
	policy           policy.Key
}

// sortRows sorts rows by profile, budget and policy; rows of one key keep
// their order.
func sortRows[T any](rows []T, of func(T) rowKey) {
	slices.SortStableFunc(rows, func(x, y T) int {
		a, b := of(x), of(y)
		return cmp.Or(
			cmp.Compare(a.benchmark, b.benchmark), cmp.Compare(a.model, b.model),
			cmp.Compare(a.budget, b.budget),
			cmp.Compare(policy.All.Order(a.policy), policy.All.Order(b.policy)),
		)
	})
}

// ratioKey is the key of a ratio.
func ratioKey(r variance.Ratio) rowKey { return rowKey{r.Benchmark, r.Model, r.Budget, r.Key()} }

// twoStageUnit gathers the ratios of all profiles and keeps the prior strength
// with the least mean at each budget (paper, Eq. 22).
func (b *builder) twoStageUnit() dag.Unit {
	u := b.gather(twoStageID, nil, []string{variance.TwoStageFile, variance.CandidatesFile}, b.ids(profileID)...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		all, err := ofEachPair[variance.Ratio](job, b.pairs, profilePart)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fmt.Errorf("none of the %d profiles can be evaluated: a profile needs a task that some rollouts pass and others fail", len(b.pairs))
		}
		ratios, strengths := tune(all)
		sortRows(ratios, ratioKey)
		sortRows(strengths, ratioKey)
		if err := dag.WriteRows(job, variance.TwoStageFile, ratioSchema, ratios); err != nil {
			return err
		}
		return dag.WriteRows(job, variance.CandidatesFile, ratioSchema, strengths)
	}
	return u
}

// differencesUnit gathers the paired differences of all profiles and keeps the
// prior strength that was selected at each budget. TS-Neyman has draws
// of its own, so there is none of it.
func (b *builder) differencesUnit() dag.Unit {
	u := b.gather(differencesID, nil, []string{variance.DifferencesFile},
		slices.Concat([]string{twoStageID}, b.ids(profileID), b.stagesIDs(knowing(), stagesID))...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		ratios, err := dag.ReadRows[variance.Ratio](job, variance.TwoStageFile)
		if err != nil {
			return err
		}
		strength := map[choice]float64{}
		for _, r := range ratios {
			if r.Alpha != nil {
				strength[choice{r.Key(), r.Budget}] = *r.Alpha
			}
		}
		all, err := ofEachPair[variance.Difference](job, b.pairs, differencesPart)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(d variance.Difference) bool {
			return d.Alpha != nil && *d.Alpha != strength[choice{d.Key(), d.Budget}]
		})
		if all, err = withStages(job, b, all, knowing(), stagesDifferences); err != nil {
			return err
		}
		sortRows(all, func(d variance.Difference) rowKey { return rowKey{d.Benchmark, d.Model, d.Budget, d.Key()} })
		return dag.WriteRows(job, variance.DifferencesFile, differenceSchema, all)
	}
	return u
}

// errorsUnit gathers the errors of all ratios that come from the profiles.
func (b *builder) errorsUnit() dag.Unit {
	u := b.gather(errorsID, nil, []string{variance.ErrorsFile},
		slices.Concat(b.ids(resampleID), b.stagesIDs(counted(), stagesID))...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		all, err := ofEachPair[variance.ProfileError](job, b.pairs, func(p pair.Pair) string { return partFile(resampleID(p)) })
		if err != nil {
			return err
		}
		all, err = withStages(job, b, all, counted(), stagesErrors)
		if err != nil {
			return err
		}
		sortRows(all, func(e variance.ProfileError) rowKey { return rowKey{e.Benchmark, e.Model, e.Budget, e.Key()} })
		return dag.WriteRows(job, variance.ErrorsFile, errorSchema, all)
	}
	return u
}

// ratiosUnit gathers the ratios of all policies.
func (b *builder) ratiosUnit() dag.Unit {
	u := b.gather(ratiosID, nil, []string{variance.RatiosFile},
		slices.Concat([]string{twoStageID, tsID}, b.stagesIDs(knowing(), stagesID))...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		var ratios []variance.Ratio
		for _, file := range []string{variance.TwoStageFile, tsRatiosFile} {
			rows, err := dag.ReadRows[variance.Ratio](job, file)
			if err != nil {
				return err
			}
			ratios = append(ratios, rows...)
		}
		ratios, err := withStages(job, b, ratios, knowing(), func(known *policy.Donors, p pair.Pair) string { return partFile(stagesID(known, p)) })
		if err != nil {
			return err
		}
		sortRows(ratios, ratioKey)
		return dag.WriteRows(job, variance.RatiosFile, ratioSchema, ratios)
	}
	return u
}

// choice is the policy and budget that a prior strength is chosen for.
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
