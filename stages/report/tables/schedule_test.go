package tables

import (
	"math"
	"testing"

	"speceval/internal/variance"
)

func TestRiskAtTheOptimalWeightIsTheDesignsRisk(t *testing.T) {
	d := variance.Design{M: 16, Budget: 64, W: 0.22, Risk: 0.88}
	if got := riskAt(d, d.W); math.Abs(got-d.Risk) > 1e-12 {
		t.Errorf("risk %v, want %v", got, d.Risk)
	}
	if riskAt(d, 0.25) <= d.Risk || riskAt(d, 0.19) <= d.Risk {
		t.Error("another weight has no higher risk")
	}
}
