package report

import (
	"cmp"
	"fmt"
	"slices"

	"speceval/internal/variance"
)

// Results is what the replay stage stored.
type Results struct {
	Designs    []variance.Design // every candidate of every ex-ante design
	Ratios     []variance.Ratio  // selected policies on every profile
	Candidates []variance.Ratio  // IBN at every prior strength of the grid
	Search     []variance.Search // every candidate of TS-Neyman
}

// policies are the columns of Table 1, in the paper's order.
var policies = []string{variance.Oracle, variance.TunedEN, variance.TunedIBN, variance.HBN}

// name is the profile of a ratio, as the paper's files spell it.
func name(r variance.Ratio) string { return r.Benchmark + "__model=" + r.Model }

// alphaOf is a prior strength as a comparable value: 0, which no prior has,
// where there is none.
func alphaOf(alpha *float64) float64 {
	if alpha == nil {
		return 0
	}
	return *alpha
}

// budgets is the budgets of the ratios in rising order.
func budgets(ratios []variance.Ratio) []int32 {
	var all []int32
	for _, r := range ratios {
		all = append(all, r.Budget)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pick is the ratios of a policy at a budget, in stored order.
func pick(ratios []variance.Ratio, policy string, budget int32) []variance.Ratio {
	var out []variance.Ratio
	for _, r := range ratios {
		if r.Policy == policy && r.Budget == budget {
			out = append(out, r)
		}
	}
	return out
}

// profileRatio is the ratio of a policy on a profile at a budget.
func profileRatio(ratios []variance.Ratio, policy, profile string, budget int32) (variance.Ratio, bool) {
	for _, r := range ratios {
		if r.Policy == policy && r.Budget == budget && name(r) == profile {
			return r, true
		}
	}
	return variance.Ratio{}, false
}

// scheduleKey names an ex-ante design: alpha is 0 for policies without one.
type scheduleKey struct {
	policy         string
	nTasks, budget int32
	alpha          float64
}

// schedules is the selected candidate of every design.
type schedules map[scheduleKey]variance.Design

func newSchedules(designs []variance.Design) schedules {
	s := schedules{}
	for _, d := range designs {
		if d.Selected {
			s[scheduleKey{d.Policy, d.NTasks, d.Budget, alphaOf(d.Alpha)}] = d
		}
	}
	return s
}

// of is the selected candidates of a policy without prior strength, by task
// count and then budget.
func (s schedules) of(policy string) []variance.Design {
	var out []variance.Design
	for key, d := range s {
		if key.policy == policy {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b variance.Design) int {
		return cmp.Or(cmp.Compare(a.NTasks, b.NTasks), cmp.Compare(a.Budget, b.Budget))
	})
	return out
}

// behind is the design that a ratio was replayed under. Its absence, or
// another pilot size than the ratio's, means that the two files are not of
// one run.
func (s schedules) behind(r variance.Ratio) (variance.Design, error) {
	d, ok := s[scheduleKey{r.Policy, r.NTasks, r.Budget, alphaOf(r.Alpha)}]
	if !ok {
		return d, fmt.Errorf("no design of %s for %d tasks at budget %d is selected; run the replay stage again",
			r.Policy, r.NTasks, r.Budget)
	}
	if r.M == nil || *r.M != d.M {
		return d, fmt.Errorf("%s on %s at budget %d was not replayed under the stored design; run the replay stage again",
			r.Policy, name(r), r.Budget)
	}
	return d, nil
}
