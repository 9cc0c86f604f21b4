package variance_test

import (
	"slices"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/variance"
)

// TestDonorsTellPoliciesApart has two policies of one name, whose ratios and
// designs differ, and one without a single stage weight, which no design stands
// behind.
func TestDonorsTellPoliciesApart(t *testing.T) {
	m, w := int32(4), 0.5
	var ratios []variance.Ratio
	var designs []variance.Design
	for i, p := range policy.Informed {
		ratios = append(ratios, variance.Ratio{
			Benchmark: "quiz", Model: "m", NTasks: 30, Budget: 8, Policy: p.Name, Donors: p.Donors.Name, M: &m, W: &w, VarianceRatio: 0.6, RatioSE: 0.01,
		})
		designs = append(designs, variance.Design{
			Policy: p.Name, Donors: p.Donors.Name, NTasks: 30, Budget: 8, M: m, W: w, RiskSE: 0.01 * float64(i+1), Selected: true,
		})
	}
	schedules := variance.NewSchedules(designs)
	var errors []float64
	for i, p := range policy.Informed {
		picked := variance.Pick(ratios, p, 8)
		if len(picked) != 1 || picked[0] != ratios[i] {
			t.Fatalf("%s has the ratios %+v", p.Key(), picked)
		}
		if r, ok := variance.ProfileRatio(ratios, p, picked[0].Profile(), 8); !ok || r != ratios[i] {
			t.Errorf("%s has the ratio %+v", p.Key(), r)
		}
		e, err := variance.SumErrors(schedules, picked, []float64{1})
		if err != nil {
			t.Fatal(err)
		}
		errors = append(errors, e.Design)
	}
	if slices.ContainsFunc(errors, func(e float64) bool { return e != 0 }) {
		t.Errorf("errors of designs %v: those of a profile's own are none", errors)
	}
	if a, b := variance.EntryOf(ratios[0]), variance.EntryOf(ratios[1]); a == b {
		t.Errorf("both are %v", a)
	}
	staged := ratios[0]
	staged.Policy, staged.Donors, staged.W = policy.Staged.Name, policy.None.Name, nil
	if e, err := variance.SumErrors(schedules, []variance.Ratio{staged}, []float64{1}); err != nil || e.Design != 0 || e.Total != 0.01 {
		t.Errorf("without a stage weight: errors %+v, %v", e, err)
	}
}
