package replay

import (
	"fmt"
	"math"
	"testing"

	"speceval/data"
	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/variance"
)

// TestCrossedEstimatesAreUnbiased lists every pair of small tables that can be
// drawn from three kinds of rows and three of columns, whose values have all
// kinds of effects and rests: on average the spread's square is the variance of
// the row effects, and the square of the mean's error is the variance of the
// mean, to the last digits.
func TestCrossedEstimatesAreUnbiased(t *testing.T) {
	values := [3][3]float64{{1, 2, 7}, {0, 5, 1}, {4, 4, -3}}
	rowChance, columnChance := [3]float64{0.2, 0.5, 0.3}, [3]float64{0.6, 0.1, 0.3}
	var effect [3]float64
	grand := 0.0
	for r := range 3 {
		for c := range 3 {
			effect[r] += columnChance[c] * values[r][c]
		}
		grand += rowChance[r] * effect[r]
	}
	want := 0.0
	for r := range 3 {
		want += rowChance[r] * (effect[r] - grand) * (effect[r] - grand)
	}
	for _, shapes := range [][][2]int{{{2, 3}}, {{3, 2}, {2, 2}}} { // rows and columns
		var spread, mean, square, error float64
		eachDraw(shapes, rowChance, columnChance, func(chance float64, kinds [][2][]int) {
			var p pooled
			for _, kind := range kinds {
				c := newCrossed(len(kind[0]), len(kind[1]))
				for i, r := range kind[0] {
					for j, k := range kind[1] {
						c.set(i, j, values[r][k])
					}
				}
				p.add(c)
			}
			m, _ := p.mean()
			spread += chance * (p.between - p.rest) / p.degrees
			mean += chance * m
			square += chance * m * m
			error += chance * p.error / (p.rows * p.rows)
		})
		for what, pair := range map[string][2]float64{
			"square of the spread": {spread, want}, "mean": {mean, grand}, "square of the mean's error": {error, square - mean*mean},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-10 {
				t.Errorf("tables of %v: expected %s %v, want %v", shapes, what, pair[0], pair[1])
			}
		}
	}
}

// eachDraw visits every choice of kinds of rows and columns for tables of the
// given shapes, with its probability.
func eachDraw(shapes [][2]int, rowChance, columnChance [3]float64, visit func(chance float64, kinds [][2][]int)) {
	var kinds [][2][]int
	var slots []*int
	var chances [][3]float64
	for _, shape := range shapes {
		kind := [2][]int{make([]int, shape[0]), make([]int, shape[1])}
		for i := range kind[0] {
			slots, chances = append(slots, &kind[0][i]), append(chances, rowChance)
		}
		for i := range kind[1] {
			slots, chances = append(slots, &kind[1][i]), append(chances, columnChance)
		}
		kinds = append(kinds, kind)
	}
	var fill func(at int, chance float64)
	fill = func(at int, chance float64) {
		if at == len(slots) {
			visit(chance, kinds)
			return
		}
		for k := range 3 {
			*slots[at] = k
			fill(at+1, chance*chances[at][k])
		}
	}
	fill(0, 1)
}

// TestCrossedClipsAtZero has tables without any row effect, where the estimate
// of its square is as often negative as not.
func TestCrossedClipsAtZero(t *testing.T) {
	c := newCrossed(2, 2)
	c.set(0, 0, 1)
	c.set(1, 1, 1)
	var p pooled
	p.add(c)
	if mean, se := p.mean(); p.spread() != 0 || mean != 0.5 || !(se >= 0) {
		t.Errorf("spread %v, mean %v ± %v", p.spread(), mean, se)
	}
}

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
		return variance.Ratio{Benchmark: benchmark, Budget: 8, Policy: policy.IBN.Name, Donors: "none", Alpha: alpha, VarianceRatio: ratio}
	}
	hbn := variance.Ratio{Benchmark: "a", Budget: 8, Policy: policy.HBN.Name, Donors: "none", VarianceRatio: 0.5}
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
			ratios, err := analytic(p, []variance.Design{{Budget: budget}})
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
