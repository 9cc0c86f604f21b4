package variance

import (
	"cmp"
	"fmt"
	"slices"

	"speceval/internal/policy"
)

// Profile is the profile of a ratio, as the paper's files spell it.
func (r Ratio) Profile() string { return r.Benchmark + "__model=" + r.Model }

// AlphaOf is a prior strength as a comparable value: 0, which no prior has,
// where there is none.
func AlphaOf(alpha *float64) float64 {
	if alpha == nil {
		return 0
	}
	return *alpha
}

// Budgets is the budgets of the ratios in rising order.
func Budgets(ratios []Ratio) []int32 {
	var all []int32
	for _, r := range ratios {
		all = append(all, r.Budget)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Key is the policy of a ratio.
func (r Ratio) Key() policy.Key { return policy.Key{Name: r.Policy, Donors: r.Donors} }

// Key is the policy of a design.
func (d Design) Key() policy.Key { return policy.Key{Name: d.Policy, Donors: d.Donors} }

// Key is the policy that HBN is held against.
func (d Difference) Key() policy.Key { return policy.Key{Name: d.Policy, Donors: d.Donors} }

// Key is the policy whose ratio has the error.
func (e ProfileError) Key() policy.Key { return policy.Key{Name: e.Policy, Donors: e.Donors} }

// Pick is the ratios of a policy at a budget, in stored order.
func Pick(ratios []Ratio, of *policy.Policy, budget int32) []Ratio {
	var out []Ratio
	for _, r := range ratios {
		if r.Key() == of.Key() && r.Budget == budget {
			out = append(out, r)
		}
	}
	return out
}

// ProfileRatio is the ratio of a policy on a profile at a budget.
func ProfileRatio(ratios []Ratio, of *policy.Policy, profile string, budget int32) (Ratio, bool) {
	for _, r := range ratios {
		if r.Key() == of.Key() && r.Budget == budget && r.Profile() == profile {
			return r, true
		}
	}
	return Ratio{}, false
}

// scheduleKey names an ex-ante design: alpha is 0 for policies without one.
type scheduleKey struct {
	policy         policy.Key
	nTasks, budget int32
	alpha          float64
}

// Schedules is the selected candidate of every design.
type Schedules map[scheduleKey]Design

// NewSchedules keeps the selected candidates.
func NewSchedules(designs []Design) Schedules {
	s := Schedules{}
	for _, d := range designs {
		if d.Selected {
			s[scheduleKey{d.Key(), d.NTasks, d.Budget, AlphaOf(d.Alpha)}] = d
		}
	}
	return s
}

// Of is the selected candidates of a policy without prior strength, by task
// count and then budget.
func (s Schedules) Of(of *policy.Policy) []Design {
	var out []Design
	for key, d := range s {
		if key.policy == of.Key() {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Design) int {
		return cmp.Or(cmp.Compare(a.NTasks, b.NTasks), cmp.Compare(a.Budget, b.Budget))
	})
	return out
}

// behind is the design that a ratio was replayed under. Its absence, or
// another pilot size than the ratio's, means that the two files are not of
// one run.
func (s Schedules) behind(r Ratio) (Design, error) {
	d, ok := s[scheduleKey{r.Key(), r.NTasks, r.Budget, AlphaOf(r.Alpha)}]
	if !ok {
		return d, fmt.Errorf("no design of %s for %d tasks at budget %d is selected; run the replay stage again",
			r.Key(), r.NTasks, r.Budget)
	}
	if r.M == nil || *r.M != d.M {
		return d, fmt.Errorf("%s on %s at budget %d was not replayed under the stored design; run the replay stage again",
			r.Key(), r.Profile(), r.Budget)
	}
	return d, nil
}
