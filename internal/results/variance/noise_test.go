package variance_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
)

// TestStandardErrorOfAMeanIsThatOfASimulation replays and designs afresh, many
// times, a study of two task counts, and compares the spread of the mean with
// the formula. With n = 40000 repetitions a standard deviation has a relative
// standard error of 1/√(2n) = 0.35%; 5 of them are a false alarm in 10^6.
func TestStandardErrorOfAMeanIsThatOfASimulation(t *testing.T) {
	const repetitions = 40000
	rng := rand.New(rand.NewPCG(1, 2))
	budget, m := int32(16), int32(6)
	type fixed struct {
		nTasks int32
		c, se  float64 // continuation mass, replay noise
	}
	profiles := []fixed{{30, 0.11, 0.0002}, {30, 0.10, 0.0001}, {30, 0.05, 0.0003}, {100, 0.12, 0.0001}, {100, 0.06, 0.0002}}
	designs := map[int32]variance.Design{
		30:  {Policy: policy.HBN.Name, Donors: "none", NTasks: 30, Budget: budget, M: m, W: 0.35, RiskSE: 0.002, Selected: true},
		100: {Policy: policy.HBN.Name, Donors: "none", NTasks: 100, Budget: budget, M: m, W: 0.33, RiskSE: 0.003, Selected: true},
	}
	ratio := func(w, c float64) float64 {
		b, m := float64(budget), float64(m)
		return b * (w*w/m + (1-w)*(1-w)*c)
	}

	var ratios []variance.Ratio
	for _, p := range profiles {
		w := designs[p.nTasks].W
		ratios = append(ratios, variance.Ratio{Subject: variance.Subject{Policy: policy.HBN.Name, Donors: "none", NTasks: p.nTasks, Budget: budget},
			M: &m, W: &w, VarianceRatio: ratio(w, p.c), RatioSE: p.se})
	}
	all, err := variance.Standings(variance.NewSchedules([]variance.Design{designs[30], designs[100]}), ratios)
	if err != nil {
		t.Fatal(err)
	}
	got := all[0]

	var sum, square float64
	for range repetitions {
		w := map[int32]float64{}
		for _, n := range []int32{30, 100} {
			w[n] = designs[n].W + rng.NormFloat64()*designs[n].RiskSE*float64(m)/float64(budget)
		}
		var mean float64
		for _, p := range profiles {
			mean += (ratio(w[p.nTasks], p.c) + p.se*rng.NormFloat64()) / float64(len(profiles))
		}
		sum, square = sum+mean, square+mean*mean
	}
	sd := math.Sqrt(square/repetitions - sum/repetitions*sum/repetitions)
	if rel := got.SE/sd - 1; math.Abs(rel) > 5*0.0035 {
		t.Errorf("standard error %v, simulated %v: off by %.1f%%", got.SE, sd, 100*rel)
	}
	if replayOnly := math.Sqrt(4e-8+1e-8+9e-8+1e-8+4e-8) / 5; got.SE < 1.1*replayOnly {
		t.Errorf("design noise does not show: %v against %v", got.SE, replayOnly)
	}
}

func TestTheOracleIsExact(t *testing.T) {
	of := variance.Subject{Policy: policy.Oracle.Name, Donors: "none", Budget: 8}
	got, err := variance.Standings(nil, []variance.Ratio{{Subject: of, VarianceRatio: 0.4}, {Subject: of, VarianceRatio: 0.6}})
	if err != nil || got[0].SE != 0 || math.Abs(got[0].Value-0.5) > 1e-15 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A second replay of the same noise moves the mean of whole budgets as much as
// EquivalentErrors says.
func TestRoundedBudgetsMoveAsTheirNoiseSays(t *testing.T) {
	const se, runs = 0.002, 400
	source := rand.New(rand.NewPCG(9, 10))
	var ratios []variance.Ratio
	var tasks float64
	for i := range 107 {
		r := variance.Ratio{Subject: variance.Subject{NTasks: []int32{19, 30, 86, 93, 100}[i%5], Budget: 64}, VarianceRatio: 0.55 + 0.2*source.Float64(), RatioSE: se}
		ratios, tasks = append(ratios, r), tasks+float64(r.NTasks)
	}
	continuous, rounded, err := variance.EquivalentErrors(nil, ratios)
	if err != nil {
		t.Fatal(err)
	}
	var squaresC, squaresR float64
	for range runs {
		var differenceC, differenceR float64
		for _, r := range ratios {
			// Another profile of about this ratio, replayed twice.
			truth := r.VarianceRatio + 0.02*source.Float64()
			one, two := 64/(truth+se*source.NormFloat64()), 64/(truth+se*source.NormFloat64())
			differenceC += float64(r.NTasks) * (one - two)
			differenceR += float64(r.NTasks) * (math.Floor(one) - math.Floor(two))
		}
		squaresC += differenceC * differenceC / tasks / tasks
		squaresR += differenceR * differenceR / tasks / tasks
	}
	// A mean square of 400 normal draws has a relative error of 7%; 4 of these.
	// The truths lie above the ratios by up to 0.02, which takes 6% off.
	if got := math.Sqrt(squaresC / 2 / runs); math.Abs(got/continuous-1) > 0.2 {
		t.Errorf("continuous budgets move by %v, expected %v", got, continuous)
	}
	// The error that is common to both is counted twice over: an upper bound.
	if got := math.Sqrt(squaresR / 2 / runs); got > 1.15*rounded || got < 0.6*rounded {
		t.Errorf("rounded budgets move by %v, expected at most %v", got, rounded)
	}
}

// TestTheMeanEquivalentIsByTasks has b/r = 20 on 10 tasks and 10 on 30.
func TestTheMeanEquivalentIsByTasks(t *testing.T) {
	got := variance.MeanEquivalent([]variance.Ratio{{Subject: variance.Subject{NTasks: 10, Budget: 8}, VarianceRatio: 0.4}, {Subject: variance.Subject{NTasks: 30, Budget: 8}, VarianceRatio: 0.8}})
	if math.Abs(got-12.5) > 1e-12 {
		t.Errorf("the mean is %v, want 12.5", got)
	}
}

func TestRiskAtTheOptimalWeightIsTheDesignsRisk(t *testing.T) {
	d := variance.Design{M: 16, Budget: 64, W: 0.22, Risk: 0.88}
	if got := d.RiskAt(d.W); math.Abs(got-d.Risk) > 1e-12 {
		t.Errorf("risk %v, want %v", got, d.Risk)
	}
	if d.RiskAt(0.25) <= d.Risk || d.RiskAt(0.19) <= d.Risk {
		t.Error("another weight has no higher risk")
	}
}

// TestDonorsTellPoliciesApart has two policies of one name, whose ratios and
// designs differ, and one without a single stage weight, which no design stands
// behind.
func TestDonorsTellPoliciesApart(t *testing.T) {
	m, w := int32(4), 0.5
	var ratios []variance.Ratio
	var designs []variance.Design
	for i, p := range policy.Informed {
		ratios = append(ratios, variance.Ratio{
			Subject: variance.Subject{Benchmark: "quiz", Model: "m", NTasks: 30, Budget: 8, Policy: p.Name, Donors: p.Donors.Name}, M: &m, W: &w, VarianceRatio: 0.6, RatioSE: 0.01,
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
	if a, b := ratios[0].Entry(), ratios[1].Entry(); a == b {
		t.Errorf("both are %v", a)
	}
	staged := ratios[0]
	staged.Policy, staged.Donors, staged.W = policy.Staged.Name, policy.None.Name, nil
	if e, err := variance.SumErrors(schedules, []variance.Ratio{staged}, []float64{1}); err != nil || e.Design != 0 || e.Total != 0.01 {
		t.Errorf("without a stage weight: errors %+v, %v", e, err)
	}
}

// TestRoundingIsNoGain has a policy that divides evenly, whose ratio is 1 but for rounding.
func TestRoundingIsNoGain(t *testing.T) {
	for ratio, want := range map[float64]bool{1 - 4e-16: false, 1: false, 0.999: true} {
		if got := variance.Gains(variance.Ratio{VarianceRatio: ratio}); got != want {
			t.Errorf("a ratio of %v gains: %v", ratio, got)
		}
	}
}
