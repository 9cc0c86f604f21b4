package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/pipeline/dag"
)

// writeSorted writes rows by profile, budget and policy; rows of one key keep their order.
func writeSorted[T interface{ Of() variance.Subject }](job *dag.Job, output, schema string, rows []T) error {
	slices.SortStableFunc(rows, func(x, y T) int {
		a, b := x.Of(), y.Of()
		return cmp.Or(
			cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Model, b.Model),
			cmp.Compare(a.Budget, b.Budget),
			cmp.Compare(policy.All.Order(a.Key()), policy.All.Order(b.Key())),
		)
	})
	return dag.WriteRows(job, output, schema, rows)
}

// twoStageUnit gathers the ratios of all profiles and keeps the prior strength
// with the least mean at each budget (paper, Eq. 22).
func (b *builder) twoStageUnit(profiles []dag.Unit) dag.Unit {
	u := b.gather(twoStageID, nil, []string{variance.TwoStageFile, variance.CandidatesFile}, profiles...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		all, err := dag.ReadRows[variance.Ratio](job, outputs(0, profiles...)...)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fmt.Errorf("none of the %d profiles can be evaluated: a profile needs a task that some rollouts pass and others fail", len(profiles))
		}
		ratios, strengths := tune(all)
		if err := writeSorted(job, variance.TwoStageFile, ratioSchema, ratios); err != nil {
			return err
		}
		return writeSorted(job, variance.CandidatesFile, ratioSchema, strengths)
	}
	return u
}

// differencesUnit gathers the paired differences of all profiles and keeps the
// prior strength that was selected at each budget. TS-Neyman has draws
// of its own, so there is none of it.
func (b *builder) differencesUnit(twoStage dag.Unit, replays []dag.Unit) dag.Unit {
	u := b.gather("differences", nil, []string{variance.DifferencesFile}, append([]dag.Unit{twoStage}, replays...)...)
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
		all, err := dag.ReadRows[variance.Difference](job, outputs(1, replays...)...)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(d variance.Difference) bool {
			return d.Alpha != nil && *d.Alpha != strength[choice{d.Key(), d.Budget}]
		})
		return writeSorted(job, variance.DifferencesFile, differenceSchema, all)
	}
	return u
}

// sortedUnit gathers the rows of some files of units.
func sortedUnit[T interface{ Of() variance.Subject }](b *builder, id, output, schema string, files []string, of []dag.Unit) dag.Unit {
	u := b.gather(id, nil, []string{output}, of...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		all, err := dag.ReadRows[T](job, files...)
		if err != nil {
			return err
		}
		return writeSorted(job, output, schema, all)
	}
	return u
}

// errorsUnit gathers the errors of all ratios that come from the profiles: policies whose donors
// are drawn anew have none.
func (b *builder) errorsUnit(resampled, stages []dag.Unit) dag.Unit {
	stages = slices.DeleteFunc(slices.Clone(stages), func(u dag.Unit) bool { return len(u.Outputs) < 3 })
	return sortedUnit[variance.ProfileError](b, "profile_errors", variance.ErrorsFile, errorSchema,
		append(outputs(0, resampled...), outputs(2, stages...)...), slices.Concat(resampled, stages))
}

// ratiosUnit gathers the ratios of all policies.
func (b *builder) ratiosUnit(twoStage, search dag.Unit, stages []dag.Unit) dag.Unit {
	return sortedUnit[variance.Ratio](b, "ratios", variance.RatiosFile, ratioSchema,
		append([]string{variance.TwoStageFile, tsRatiosFile}, outputs(0, stages...)...), append([]dag.Unit{twoStage, search}, stages...))
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
