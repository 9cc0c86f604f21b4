package replay

import (
	"fmt"
	"math"
	"testing"

	"speceval/data"
	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
)

// profileOf makes a profile with the given pass counts of k rollouts each.
func profileOf(k int, counts ...int) profile.Profile {
	p := profile.Profile{Benchmark: "made", Model: "made", TestedK: k, PassCounts: counts}
	for i := range counts {
		p.TaskIDs = append(p.TaskIDs, fmt.Sprint(i))
	}
	return p
}

func TestDesignsSelectTheLeastRisk(t *testing.T) {
	cs := pilot.AllCandidates([]int{4})
	rows := designs(policy.HBN, 10, nil, cs, [][]float64{{0.25, 0.25}, {0.875, 1.125}, {9, 9}}) // risks 4/5, 4/3, 9/7
	if !rows[0].Selected || rows[1].Selected || rows[2].Selected {
		t.Errorf("selected %v %v %v, want the first", rows[0].Selected, rows[1].Selected, rows[2].Selected)
	}
	for i, r := range rows {
		if want := float64(r.Budget) * r.W / float64(r.M); math.Abs(r.Risk-want) > 1e-12 {
			t.Errorf("m = %d: risk %v, b·w/m is %v", r.M, r.Risk, want)
		}
		if math.Abs(r.Gap-(r.Risk-rows[0].Risk)) > 1e-15 || (i == 0) != (r.Gap == 0) {
			t.Errorf("m = %d: gap %v", r.M, r.Gap)
		}
	}
	if rows[0].RiskSE != 0 || rows[1].RiskSE == 0 {
		t.Errorf("standard errors %v, %v; want zero for equal replicates only", rows[0].RiskSE, rows[1].RiskSE)
	}
	// dR/dC = b(1−w)² = 4/9 at w = 2/3; the mean of 0.875 and 1.125 is off by 0.125.
	if want := 0.125 * 4 / 9; math.Abs(rows[1].RiskSE-want) > 1e-12 || math.Abs(rows[1].GapSE-want) > 1e-12 {
		t.Errorf("standard errors %v of the risk and %v of the gap, want %v", rows[1].RiskSE, rows[1].GapSE, want)
	}
	tie := designs(policy.HBN, 10, nil, pilot.Candidates{{Budget: 4, M: 1}, {Budget: 4, M: 2}}, [][]float64{{0.5}, {1}})
	if math.Abs(tie[0].Risk-4.0/3) > 1e-15 || !math.IsNaN(tie[0].RiskSE) {
		t.Errorf("one replicate: risk %v ± %v, want 4/3 and no error", tie[0].Risk, tie[0].RiskSE)
	}
	equal := designs(policy.HBN, 10, nil, pilot.Candidates{{Budget: 4, M: 2}, {Budget: 4, M: 2}}, [][]float64{{0.5}, {0.5}})
	if !equal[0].Selected || equal[1].Selected {
		t.Error("an exact tie does not go to the first, smaller pilot")
	}
}

func TestTuningKeepsTheBestStrength(t *testing.T) {
	small, large := 0.1, 0.2
	row := func(benchmark string, alpha *float64, ratio float64) variance.Ratio {
		return variance.Ratio{Subject: variance.Subject{Benchmark: benchmark, Budget: 8, Policy: policy.IBN.Name, Donors: "none", Alpha: alpha}, VarianceRatio: ratio}
	}
	hbn := variance.Ratio{Subject: variance.Subject{Benchmark: "a", Budget: 8, Policy: policy.HBN.Name, Donors: "none"}, VarianceRatio: 0.5}
	all := []variance.Ratio{hbn, row("a", &small, 0.75), row("a", &large, 0.5), row("b", &small, 0.5), row("b", &large, 0.5)}
	ratios, strengths := tune(all)
	if len(strengths) != 4 || len(ratios) != 3 || ratios[0] != hbn || *ratios[1].Alpha != large {
		t.Errorf("kept %v of %v", ratios, strengths)
	}
	all[2].VarianceRatio = 0.75
	if ratios, _ = tune(all); *ratios[1].Alpha != small {
		t.Error("an exact tie does not go to the smaller strength")
	}
}

// TestOracleIsThePapers compares the Oracle on the published profiles with the
// paper's Table 1: it has no Monte Carlo error, so every printed digit agrees.
func TestOracleIsThePapers(t *testing.T) {
	all := must(profile.Parse(data.Profiles(), "data/profiles.parquet"))
	profiles, _, err := profile.Evaluated(all)
	if err != nil {
		t.Fatal(err)
	}
	for budget, want := range map[int32]string{8: "0.407", 16: "0.399", 32: "0.395", 64: "0.393"} {
		sum := 0.0
		for _, p := range profiles {
			ratios := must(analytic(p, []variance.Design{{Budget: budget}}))
			sum += ratios[0].VarianceRatio
		}
		if got := fmt.Sprintf("%.3f", sum/float64(len(profiles))); got != want || len(profiles) != 107 {
			t.Errorf("budget %d: mean %s over %d profiles, the paper has %s over 107", budget, got, len(profiles), want)
		}
	}
}
