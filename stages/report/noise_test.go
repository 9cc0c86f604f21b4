package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"speceval/internal/variance"
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
		30:  {Policy: variance.HBN, NTasks: 30, Budget: budget, M: m, W: 0.35, RiskSE: 0.002, Selected: true},
		100: {Policy: variance.HBN, NTasks: 100, Budget: budget, M: m, W: 0.33, RiskSE: 0.003, Selected: true},
	}
	ratio := func(w, c float64) float64 {
		b, m := float64(budget), float64(m)
		return b * (w*w/m + (1-w)*(1-w)*c)
	}

	var ratios []variance.Ratio
	for _, p := range profiles {
		w := designs[p.nTasks].W
		ratios = append(ratios, variance.Ratio{Policy: variance.HBN, NTasks: p.nTasks, Budget: budget,
			M: &m, W: &w, VarianceRatio: ratio(w, p.c), RatioSE: p.se})
	}
	got, err := meanRatio(newSchedules([]variance.Design{designs[30], designs[100]}), ratios)
	if err != nil {
		t.Fatal(err)
	}

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
	got, err := meanRatio(nil, []variance.Ratio{{VarianceRatio: 0.4}, {VarianceRatio: 0.6}})
	if err != nil || got.SE != 0 || math.Abs(got.Value-0.5) > 1e-15 {
		t.Errorf("%+v, %v", got, err)
	}
}
