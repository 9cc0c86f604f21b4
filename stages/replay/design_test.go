package replay

import (
	"fmt"
	"math"
	"testing"

	"speceval/data"
	"speceval/internal/exante"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/neyman"
)

// profileOf makes a profile with the given pass counts of k rollouts each.
func profileOf(k int, counts ...int) profile.Profile {
	p := profile.Profile{Benchmark: "made", Model: "made", TestedK: k, PassCounts: counts}
	for i := range counts {
		p.TaskIDs = append(p.TaskIDs, fmt.Sprint(i))
	}
	return p
}

// TestMassesMatchEnumeration compares the continuation masses of HBN and IBN
// for two tasks with their exact prior expectations.
func TestMassesMatchEnumeration(t *testing.T) {
	const tasks, panels, rounds = 2, 4096, 8
	cs := exante.AllCandidates([]int{2, 5})
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	alphas := []float64{0.05, 0.5, 1}
	estimates := map[string][][]float64{} // [candidate][round]
	for round := range rounds {
		random := seed.Root(5).Index(round)
		masses, err := exante.Masses(t.Context(), prior, cs, tasks, panels, random.Stream())
		if err != nil {
			t.Fatal(err)
		}
		collect(estimates, "hbn", masses)
		all, err := ibnMasses(t.Context(), alphas, cs, tasks, panels, random.Stream())
		if err != nil {
			t.Fatal(err)
		}
		for a, masses := range all {
			collect(estimates, fmt.Sprint(alphas[a]), masses)
		}
	}
	for k, c := range cs {
		check := func(name string, want float64) {
			mean, se := exante.MeanAndError(estimates[name][k])
			// t with 7 degrees of freedom: beyond 15 with probability 1.4e-6.
			if math.Abs(mean-want) > 15*se+1e-12 || se > 0.03*want {
				t.Errorf("%s, b = %d, m = %d: B = %v ± %v, exactly %v", name, c.Budget, c.M, mean, se, want)
			}
		}
		check("hbn", exactMass(t, c, hbnLaw(c.M), hbnByTask))
		for _, alpha := range alphas {
			check(fmt.Sprint(alpha), exactMass(t, c, betaLaw(c.M, alpha), ibnPosterior(alpha)))
		}
	}
}

func collect(estimates map[string][][]float64, name string, masses []float64) {
	if estimates[name] == nil {
		estimates[name] = make([][]float64, len(masses))
	}
	for k, mass := range masses {
		estimates[name][k] = append(estimates[name][k], mass)
	}
}

// exactMass is E[Σ score/L] over the pilots of two tasks with the given law.
func exactMass(t *testing.T, c exante.Candidate, law func(s1, s2 int) float64, scores pilotScores) float64 {
	sum := 0.0
	for s1 := range c.M + 1 {
		for s2 := range c.M + 1 {
			vs := scores(t, []int{s1, s2}, c.M)
			allocation, err := neyman.Allocate(vs, 2*(c.Budget-c.M))
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range vs {
				sum += law(s1, s2) * v / float64(allocation[i])
			}
		}
	}
	return sum
}

// betaLaw is the law of two tasks' pilots, independent given Beta(α, α).
func betaLaw(m int, alpha float64) func(s1, s2 int) float64 {
	return func(s1, s2 int) float64 {
		return betaBinomial(m, s1, alpha, alpha) * betaBinomial(m, s2, alpha, alpha)
	}
}

// hbnLaw is the law of two tasks' pilots under the reference prior, by a fine
// midpoint rule over ξ and δ.
func hbnLaw(m int) func(s1, s2 int) float64 {
	return func(s1, s2 int) float64 {
		const n = 200
		sum := 0.0
		for i := range n {
			for j := range n {
				xi, delta := (float64(i)+0.5)/n, (float64(j)+0.5)/n
				kappa := (1 - delta) / delta
				a, b := xi*kappa, (1-xi)*kappa
				sum += betaBinomial(m, s1, a, b) * betaBinomial(m, s2, a, b)
			}
		}
		return sum / (n * n)
	}
}

func betaBinomial(m, s int, a, b float64) float64 {
	x := 1.0
	for i := range m {
		if i < s {
			x *= (a + float64(i)) * float64(m-i) / float64(i+1)
		} else {
			x *= b + float64(i-s)
		}
		x /= a + b + float64(i)
	}
	return x
}

// ibnPosterior is Eq. 15 of the paper.
func ibnPosterior(alpha float64) pilotScores {
	return func(_ *testing.T, successes []int, m int) []float64 {
		var scores []float64
		for _, s := range successes {
			n := float64(m) + 2*alpha
			scores = append(scores, (float64(s)+alpha)*(float64(m-s)+alpha)/(n*(n+1)))
		}
		return scores
	}
}

// TestENCoefficientsMatchEnumeration does the same for EN on a fixed profile.
func TestENCoefficientsMatchEnumeration(t *testing.T) {
	p := []float64{0.5, 0.0625, 0.9375, 0}
	cs := exante.AllCandidates([]int{4, 6})
	got, err := enCoefficients(t.Context(), p, cs, 20_000, seed.Root(8).Stream())
	if err != nil {
		t.Fatal(err)
	}
	for k, c := range cs {
		mean, se := exante.MeanAndError(got[k])
		want := enumerate(t, p, c.M, c.Budget, enByTask)
		if math.Abs(mean-want) > 15*se+1e-12 || se > 0.02*want {
			t.Errorf("b = %d, m = %d: C = %v ± %v, exactly %v", c.Budget, c.M, mean, se, want)
		}
	}
}

func TestBatchesPartitionTheDraws(t *testing.T) {
	for _, draws := range []int{1, 2, 7, 8, 9, 100, 8192} {
		sizes := make([]int, min(batches, draws))
		last := 0
		for draw := range draws {
			batch := batchOf(draw, draws)
			if batch < last || batch > last+1 {
				t.Fatalf("%d draws: batch %d follows %d", draws, batch, last)
			}
			last = batch
			sizes[batch]++
		}
		for batch, n := range sizes {
			if n != batchSize(batch, draws) || n == 0 {
				t.Errorf("%d draws: batch %d has %d, batchSize says %d", draws, batch, n, batchSize(batch, draws))
			}
		}
	}
}

func TestDesignsSelectTheLeastRisk(t *testing.T) {
	cs := exante.AllCandidates([]int{4})
	rows := designs(variance.HBN, 10, nil, cs, [][]float64{{0.25, 0.25}, {0.875, 1.125}, {9, 9}}) // risks 4/5, 4/3, 9/7
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
	tie := designs(variance.HBN, 10, nil, exante.Candidates{{Budget: 4, M: 1}, {Budget: 4, M: 2}}, [][]float64{{0.5}, {1}})
	if math.Abs(tie[0].Risk-4.0/3) > 1e-15 || !math.IsNaN(tie[0].RiskSE) {
		t.Errorf("one replicate: risk %v ± %v, want 4/3 and no error", tie[0].Risk, tie[0].RiskSE)
	}
	equal := designs(variance.HBN, 10, nil, exante.Candidates{{Budget: 4, M: 2}, {Budget: 4, M: 2}}, [][]float64{{0.5}, {0.5}})
	if !equal[0].Selected || equal[1].Selected {
		t.Error("an exact tie does not go to the first, smaller pilot")
	}
}

func TestTuningKeepsTheBestStrength(t *testing.T) {
	small, large := 0.1, 0.2
	row := func(benchmark string, alpha *float64, ratio float64) variance.Ratio {
		return variance.Ratio{Benchmark: benchmark, Budget: 8, Policy: variance.TunedIBN, Alpha: alpha, VarianceRatio: ratio}
	}
	hbn := variance.Ratio{Benchmark: "a", Budget: 8, Policy: variance.HBN, VarianceRatio: 0.5}
	all := []variance.Ratio{hbn, row("a", &small, 0.75), row("a", &large, 0.5), row("b", &small, 0.5), row("b", &large, 0.5)}
	ratios, strengths := tuneIBN(all)
	if len(strengths) != 4 || len(ratios) != 3 || ratios[0] != hbn || *ratios[1].Alpha != large {
		t.Errorf("kept %v of %v", ratios, strengths)
	}
	all[2].VarianceRatio = 0.75
	if ratios, _ = tuneIBN(all); *ratios[1].Alpha != small {
		t.Error("an exact tie does not go to the smaller strength")
	}
}

// TestOracleIsThePapers compares the Oracle on the published profiles with the
// paper's Table 1: it has no Monte Carlo error, so every printed digit agrees.
func TestOracleIsThePapers(t *testing.T) {
	all, err := profile.Parse(data.Profiles(), "data/profiles.parquet")
	if err != nil {
		t.Fatal(err)
	}
	profiles, _, err := profile.Evaluated(all)
	if err != nil {
		t.Fatal(err)
	}
	for budget, want := range map[int32]string{8: "0.407", 16: "0.399", 32: "0.395", 64: "0.393"} {
		sum := 0.0
		for _, p := range profiles {
			ratios, err := oracle(p, []variance.Design{{Budget: budget}})
			if err != nil {
				t.Fatal(err)
			}
			sum += ratios[0].VarianceRatio
		}
		if got := fmt.Sprintf("%.3f", sum/float64(len(profiles))); got != want || len(profiles) != 107 {
			t.Errorf("budget %d: mean %s over %d profiles, the paper has %s over 107", budget, got, len(profiles), want)
		}
	}
}
