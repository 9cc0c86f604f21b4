package policy_test

import (
	"math"
	"testing"

	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/policy/policytest"
	"speceval/internal/seed"
)

// TestENCoefficientsMatchEnumeration compares EN's continuation coefficients on a
// fixed profile with their exact expectations.
func TestENCoefficientsMatchEnumeration(t *testing.T) {
	p := []float64{0.5, 0.0625, 0.9375, 0}
	cs := pilot.AllCandidates([]int{4, 6})
	got, err := policy.EN.Design.OnProfile(t.Context(), p, cs, 20_000, seed.Root(8).Stream())
	if err != nil {
		t.Fatal(err)
	}
	for k, c := range cs {
		mean, se := pilot.MeanAndError(got[k])
		want := policytest.Coefficient(t, p, c.M, c.Budget, policytest.ByTask(t, policy.EN.Name, 0))
		if math.Abs(mean-want) > 15*se+1e-12 || se > 0.02*want {
			t.Errorf("b = %d, m = %d: C = %v ± %v, exactly %v", c.Budget, c.M, mean, se, want)
		}
	}
}
