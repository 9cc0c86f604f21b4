package replay

import (
	"cmp"
	"context"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// differencesPart is where the replay of a profile keeps its differences to HBN,
// of all prior strengths.
func differencesPart(p pair.Pair) string { return partFile("differences/" + p.Name()) }

// differencesUnit gathers the paired differences of all profiles and keeps the
// prior strength that was selected at each budget. TS-Neyman has draws
// of its own, so there is none of it.
func (b *builder) differencesUnit() dag.Unit {
	u := dag.Unit{
		ID: "differences", Needs: []dag.Ref{twoStageRef},
		Outputs: []string{variance.DifferencesFile}, Provenance: "computed",
	}
	for _, p := range b.pairs {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: profileID(p)})
	}
	u.Needs = append(u.Needs, b.stagesRefs()...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		ratios, err := readRows[variance.Ratio](job, variance.TwoStageFile)
		if err != nil {
			return err
		}
		strength := selectedStrengths(ratios)
		all, err := ofEachPair[variance.Difference](job, b.pairs, differencesPart)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(d variance.Difference) bool {
			return d.Alpha != nil && *d.Alpha != strength[choice{d.Key(), d.Budget}]
		})
		for _, known := range b.knowing() {
			more, err := ofEachPair[variance.Difference](job, b.pairs, func(p pair.Pair) string { return stagesDifferences(known, p) })
			if err != nil {
				return err
			}
			all = append(all, more...)
		}
		sortRows(b.policies, all, func(d variance.Difference) place { return place{d.Benchmark, d.Model, d.Budget, d.Key()} })
		return writeRows(job, variance.DifferencesFile, "differences.v2", all)
	}
	return u
}

// place is where a row belongs in a file of all profiles.
type place struct {
	benchmark, model string
	budget           int32
	policy           policy.Key
}

// sortRows sorts rows by profile, budget and policy; rows of one place keep
// their order.
func sortRows[T any](policies policy.List, rows []T, of func(T) place) {
	slices.SortStableFunc(rows, func(x, y T) int {
		a, b := of(x), of(y)
		return cmp.Or(
			cmp.Compare(a.benchmark, b.benchmark), cmp.Compare(a.model, b.model),
			cmp.Compare(a.budget, b.budget),
			cmp.Compare(policies.Order(a.policy), policies.Order(b.policy)),
		)
	})
}
