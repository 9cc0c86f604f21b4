package replay

import (
	"cmp"
	"context"
	"slices"

	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// differencesPart is where the replay of a profile keeps its differences to HBN,
// of all of IBN's prior strengths.
func differencesPart(p pair.Pair) string { return partFile("differences/" + p.Name()) }

// differencesUnit gathers the paired differences of all profiles and keeps, of
// IBN, the prior strength that was selected at each budget. TS-Neyman has draws
// of its own, so there is none of it.
func (b *builder) differencesUnit() dag.Unit {
	u := dag.Unit{
		ID: "differences", Needs: []dag.Ref{twoStageRef},
		Outputs: []string{variance.DifferencesFile}, Provenance: "computed",
	}
	for _, p := range b.pairs {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: profileID(p)})
	}
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
			return d.Policy == variance.TunedIBN && *d.Alpha != strength[d.Budget]
		})
		sortRows(all, func(d variance.Difference) place { return place{d.Benchmark, d.Model, d.Budget, d.Policy} })
		return writeRows(job, variance.DifferencesFile, "differences.v1", all)
	}
	return u
}

// selectedStrengths is IBN's prior strength at each budget.
func selectedStrengths(twoStage []variance.Ratio) map[int32]float64 {
	strengths := map[int32]float64{}
	for _, r := range twoStage {
		if r.Policy == variance.TunedIBN {
			strengths[r.Budget] = *r.Alpha
		}
	}
	return strengths
}

// place is where a row belongs in a file of all profiles.
type place struct {
	benchmark, model string
	budget           int32
	policy           string
}

// sortRows sorts rows by profile, budget and policy; rows of one place keep
// their order.
func sortRows[T any](rows []T, of func(T) place) {
	policies := []string{variance.Oracle, variance.TunedEN, variance.TunedIBN, variance.HBN, variance.TSNeyman}
	slices.SortStableFunc(rows, func(x, y T) int {
		a, b := of(x), of(y)
		return cmp.Or(
			cmp.Compare(a.benchmark, b.benchmark), cmp.Compare(a.model, b.model),
			cmp.Compare(a.budget, b.budget),
			cmp.Compare(slices.Index(policies, a.policy), slices.Index(policies, b.policy)),
		)
	})
}
