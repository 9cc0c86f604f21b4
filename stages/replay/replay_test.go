package replay

import (
	"math"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/policytest"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/neyman"
)

// TestReplayMatchesEnumeration replays a profile small enough that every pilot
// outcome can be listed, and compares the ratios with the exact expectations,
// at five standard errors.
func TestReplayMatchesEnumeration(t *testing.T) {
	p := profileOf(64, 32, 8, 60)
	alpha := 0.13
	designs := []variance.Design{
		{Policy: policy.HBN.Name, Donors: "none", NTasks: 3, Budget: 7, M: 3, W: 0.4},
		{Policy: policy.EN.Name, Donors: "none", NTasks: 3, Budget: 7, M: 4, W: 0.6},
		{Policy: policy.IBN.Name, Donors: "none", NTasks: 3, Budget: 7, M: 2, W: 0.3, Alpha: &alpha},
	}
	byTask := []policytest.Scores{policytest.ByTask(t, policy.HBN.Name, 0), policytest.ByTask(t, policy.EN.Name, 0), policytest.ByTask(t, policy.IBN.Name, 13)}
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	ratios, _, err := replay(t.Context(), policy.All, p, designs, prior, 40_000, seed.Root(3).Stream())
	if err != nil {
		t.Fatal(err)
	}
	if len(ratios) != 4 || ratios[0].Policy != policy.Oracle.Name || ratios[0].RatioSE != 0 || ratios[0].M != nil {
		t.Fatalf("ratios start with %+v", ratios[0])
	}
	for i, d := range designs {
		coefficient := policytest.Coefficient(t, probabilities(p), int(d.M), int(d.Budget), byTask[i])
		want := neyman.Risk(int(d.Budget), int(d.M), d.W, coefficient)
		got := ratios[i+1]
		if e := math.Abs(got.VarianceRatio-want) / got.RatioSE; !(e < 5) {
			t.Errorf("%s: ratio %v ± %v, exactly %v", d.Policy, got.VarianceRatio, got.RatioSE, want)
		}
		if got.RatioSE > 0.01 {
			t.Errorf("%s: standard error %v", d.Policy, got.RatioSE)
		}
	}
}

// TestTheWorkedPolicyLiesBetweenUniformAndHBN replays the policy of the page beside
// HBN, on the same draws. It gains 0.09, and is 0.003 behind HBN; the standard errors
// of both are 0.0004, that of their difference is smaller still.
func TestTheWorkedPolicyLiesBetweenUniformAndHBN(t *testing.T) {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	designs := []variance.Design{
		{Policy: policy.HBN.Name, Donors: "none", NTasks: 100, Budget: 16, M: 6, W: 0.35},
		{Policy: policytest.Disagreement.Name, Donors: "none", NTasks: 100, Budget: 16, M: 6, W: 0.35},
	}
	policies := policy.List{policy.HBN, policytest.Disagreement}
	ratios, apart, err := replay(t.Context(), policies, benchProfile(100), designs, prior, 1024, seed.Root(7).Stream())
	if err != nil {
		t.Fatal(err)
	}
	best, worked := ratios[0], ratios[1]
	t.Logf("variance over Uniform's: HBN %.4f ± %.4f, disagreement %.4f ± %.4f", best.VarianceRatio, best.RatioSE, worked.VarianceRatio, worked.RatioSE)
	if !(best.VarianceRatio < worked.VarianceRatio && worked.VarianceRatio < 0.95) || worked.RatioSE > 0.001 || apart[0].DifferenceSE > worked.RatioSE {
		t.Errorf("HBN %+v, disagreement %+v, apart %+v", best, worked, apart)
	}
}
