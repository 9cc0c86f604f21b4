package replay

import (
	"cmp"
	"context"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// paired sums, over draws that a policy shares with HBN, by how much its ratio
// is above HBN's. The draws are common random numbers: what both owe to a pilot
// vector cancels.
type paired struct {
	draws  float64
	first  float64 // difference of the first draw, against cancellation
	drift  float64 // Σ (difference − first)
	square float64 // Σ (difference − first)²
}

func (p *paired) add(difference float64) {
	if p.draws == 0 {
		p.first = difference
	}
	d := difference - p.first
	p.draws++
	p.drift += d
	p.square += d * d
}

// se is the standard error of the mean difference, NaN of a single draw.
func (p *paired) se() float64 {
	if p.draws < 2 {
		return math.NaN()
	}
	return math.Sqrt(max(0, p.square-p.drift*p.drift/p.draws) / (p.draws - 1) / p.draws)
}

// pairUp adds the draws of a sweep, which every policy has met at its own pilot
// size, to the differences to HBN.
func pairUp(runs []*replayed) {
	for _, run := range runs {
		hbn := hbnAt(runs, run.design.Budget)
		if hbn == nil || hbn == run {
			continue
		}
		slope, its := run.slope(), hbn.slope()
		for draw, c := range run.values {
			run.paired.add(slope*c - its*hbn.values[draw])
		}
	}
}

// hbnAt is HBN at a budget, nil if it is not replayed.
func hbnAt(runs []*replayed, budget int32) *replayed {
	for _, run := range runs {
		if run.design.Policy == policy.HBN.Name && run.design.Budget == budget {
			return run
		}
	}
	return nil
}

// differences turns ratios, the last of which are those of the runs and the
// others analytic, into differences to HBN's. What is analytic has no error of
// its own, so that HBN's is that of the difference.
func differences(ratios []variance.Ratio, runs []*replayed) []variance.Difference {
	hbn := map[int32]variance.Ratio{}
	for _, r := range ratios {
		if r.Policy == policy.HBN.Name {
			hbn[r.Budget] = r
		}
	}
	analytic := len(ratios) - len(runs)
	var rows []variance.Difference
	for i, r := range ratios {
		its, ok := hbn[r.Budget]
		if !ok || r.Policy == policy.HBN.Name {
			continue
		}
		row := variance.Difference{
			Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks, Budget: r.Budget,
			Policy: r.Policy, Donors: r.Donors, Alpha: r.Alpha,
			Difference: r.VarianceRatio - its.VarianceRatio, DifferenceSE: its.RatioSE, Draws: its.Draws,
		}
		if i >= analytic {
			row.DifferenceSE = runs[i-analytic].paired.se()
		}
		rows = append(rows, row)
	}
	return rows
}

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
		sortRows(b.policies, all, func(d variance.Difference) rowKey { return rowKey{d.Benchmark, d.Model, d.Budget, d.Key()} })
		return writeRows(job, variance.DifferencesFile, "differences.v2", all)
	}
	return u
}

// rowKey is what a row of a file of all profiles is sorted by.
type rowKey struct {
	benchmark, model string
	budget           int32
	policy           policy.Key
}

// sortRows sorts rows by profile, budget and policy; rows of one key keep
// their order.
func sortRows[T any](policies policy.List, rows []T, of func(T) rowKey) {
	slices.SortStableFunc(rows, func(x, y T) int {
		a, b := of(x), of(y)
		return cmp.Or(
			cmp.Compare(a.benchmark, b.benchmark), cmp.Compare(a.model, b.model),
			cmp.Compare(a.budget, b.budget),
			cmp.Compare(policies.Order(a.policy), policies.Order(b.policy)),
		)
	})
}
