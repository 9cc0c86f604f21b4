package measurement_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"speceval/internal/measurement"
)

// randomRuns is runs of n profiles whose sizes differ a hundredfold.
func randomRuns(source *rand.Rand, n int) []measurement.Measurement {
	var all []measurement.Measurement
	for i := range n {
		size := math.Exp(source.Float64() * 5)
		for _, m := range setting(measurement.Simulated) {
			m.Benchmark = string(rune('a' + i))
			m.NTasks = int32(20 + source.IntN(80))
			if len(all)%4 > 0 {
				m.NTasks = all[len(all)-1].NTasks
			}
			if m.Strategy == measurement.UniformEquivalent {
				m.Budget = 8 + int32(source.IntN(3))
			}
			m.AcceptedRollouts = m.NTasks * m.Budget
			m.TimeSeconds = size * (1 + source.Float64())
			m.UsefulFLOPs = 1e16 * size * (1 + source.Float64())
			if m.Strategy == measurement.HBNAsync {
				m.ExtraRollouts, m.WastedFLOPs = int32(source.IntN(9)), 1e15*source.Float64()
			}
			all = append(all, m)
		}
	}
	return all
}

func TestFormulasAreThoseOfThePlainSums(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		runs := randomRuns(source, 1+source.IntN(9))
		settings := measurement.Settings(runs, measurement.Simulated, 8, measurement.Uniform)
		var ratios []float64
		var r, weighted, tasks, rounded, accepted, extra float64
		time, useful, rescaled, wasted := map[string]float64{}, map[string]float64{}, map[string]float64{}, 0.0
		for _, s := range settings {
			r = 0.5 + source.Float64()
			ratios = append(ratios, r)
			tasks += float64(s.NTasks)
			weighted += float64(s.NTasks) * 8 / r
		}
		for i, m := range runs {
			time[m.Strategy] += m.TimeSeconds
			useful[m.Strategy] += m.UsefulFLOPs
			rescaled[m.Strategy] += m.TimeSeconds * runs[i-i%4].UsefulFLOPs / m.UsefulFLOPs
			switch m.Strategy {
			case measurement.Uniform:
				accepted += float64(m.AcceptedRollouts)
			case measurement.UniformEquivalent:
				rounded += float64(m.AcceptedRollouts)
			}
			extra, wasted = extra+float64(m.ExtraRollouts), wasted+m.WastedFLOPs
		}
		base, uniform := time[measurement.Uniform], useful[measurement.Uniform]
		compute, clock, benefit := measurement.ComputeOver(settings), measurement.TimeOver(settings), measurement.BenefitOver(settings, ratios)
		for name, pair := range map[string][2]float64{
			"extra":            {compute.Extra, extra / accepted},
			"useful":           {compute.Useful, useful[measurement.HBNAsync]/uniform - 1},
			"wasted":           {compute.Wasted, wasted / uniform},
			"actual":           {compute.Actual, (useful[measurement.HBNAsync]+wasted)/uniform - 1},
			"sync":             {clock.Sync, time[measurement.HBNSync]/base - 1},
			"async":            {clock.Async, time[measurement.HBNAsync]/base - 1},
			"sync normalized":  {clock.SyncNormalized, rescaled[measurement.HBNSync]/base - 1},
			"async normalized": {clock.AsyncNormalized, rescaled[measurement.HBNAsync]/base - 1},
			"continuous":       {benefit.Continuous, weighted / tasks},
			"rounded":          {benefit.Rounded, rounded / tasks},
			"equivalent":       {benefit.EquivalentTime, time[measurement.UniformEquivalent]/base - 1},
			"async of benefit": {benefit.AsyncTime, clock.Async},
			"kept":             {benefit.Kept(8), (rounded/tasks - 8) / (weighted/tasks - 8)},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-12*(1+math.Abs(pair[1])) {
				t.Fatalf("%s is %v, want %v", name, pair[0], pair[1])
			}
		}
	}
}

// Sums lose nothing to a profile that is vastly larger than the others.
func TestSumsAreCompensated(t *testing.T) {
	runs := setting(measurement.Simulated)
	var all []measurement.Measurement
	for i := range 1000 {
		for _, m := range runs {
			m.Benchmark, m.TimeSeconds = string(rune('a'+i)), 0.1
			if i == 0 {
				m.TimeSeconds = 1e15
			}
			if m.Strategy == measurement.HBNSync && i > 0 {
				m.TimeSeconds = 0.3
			}
			all = append(all, m)
		}
	}
	got := measurement.TimeOver(measurement.Settings(all, measurement.Simulated, 8)).Sync
	if want := 199.8 / (1e15 + 99.9); math.Abs(got-want) > 2e-16 {
		t.Errorf("slowdown %v, want %v", got, want)
	}
}

func TestTwiceTheOriginalTimesChangeTheEquivalentTimeAlone(t *testing.T) {
	runs := randomRuns(rand.New(rand.NewPCG(3, 4)), 9)
	ratios := []float64{.9, .8, .7, .9, .8, .7, .9, .8, .7}
	before := measurement.Settings(runs, measurement.Simulated, 8)
	slower := make([]measurement.Measurement, len(runs))
	for i, m := range runs {
		if m.Strategy != measurement.UniformEquivalent {
			m.TimeSeconds *= 2
		}
		slower[i] = m
	}
	after := measurement.Settings(slower, measurement.Simulated, 8)
	if measurement.ComputeOver(before) != measurement.ComputeOver(after) || measurement.TimeOver(before) != measurement.TimeOver(after) {
		t.Error("compute or relative times have changed")
	}
	a, b := measurement.BenefitOver(before, ratios), measurement.BenefitOver(after, ratios)
	if want := (a.EquivalentTime+1)/2 - 1; math.Abs(b.EquivalentTime-want) > 1e-15 {
		t.Errorf("equivalent time %v, want %v", b.EquivalentTime, want)
	}
	b.EquivalentTime = a.EquivalentTime
	if a != b {
		t.Errorf("benefit %+v, want %+v", b, a)
	}
}

func TestSettingsAreWholeAndOfOneProvenance(t *testing.T) {
	runs := append(randomRuns(rand.New(rand.NewPCG(5, 6)), 3), setting(measurement.Measured)...)
	all := []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync, measurement.UniformEquivalent}
	for _, c := range []struct {
		provenance string
		budget     int32
		rows       []measurement.Measurement
		want       int
	}{
		{measurement.Simulated, 8, runs, 3},
		{measurement.Measured, 8, runs, 1},
		{measurement.Published, 8, runs, 0},
		{measurement.Simulated, 16, runs, 0},
		{measurement.Simulated, 8, runs[1:], 2},
	} {
		got := measurement.Settings(c.rows, c.provenance, c.budget, all...)
		if len(got) != c.want {
			t.Errorf("%s at %d: %d settings, want %d", c.provenance, c.budget, len(got), c.want)
		}
		for i, s := range got {
			if i > 0 && got[i-1].Profile() >= s.Profile() {
				t.Errorf("%s comes after %s", s.Profile(), got[i-1].Profile())
			}
			for strategy, m := range s.Runs {
				if m.Strategy != strategy || m.Provenance != c.provenance || m.Profile() != s.Profile() {
					t.Errorf("%+v among the runs of %s", m, s.Profile())
				}
			}
		}
	}
}

func TestSuitesCoverTheSameProfiles(t *testing.T) {
	rows := repeated(randomRuns(rand.New(rand.NewPCG(7, 8)), 3), 3)
	if got := measurement.Suites(rows, measurement.Simulated, 8, measurement.Uniform); len(got) != 3 || len(got[2]) != 3 {
		t.Errorf("%d suites of three whole repeats", len(got))
	}
	// The second profile of the last repeat is not there.
	cut := append(rows[:28:28], rows[32:]...)
	got := measurement.Suites(cut, measurement.Simulated, 8, measurement.Uniform)
	if len(got) != 2 || len(got[0]) != 3 || got[1][0].Uniform().TimeSeconds != got[0][0].Uniform().TimeSeconds+1 {
		t.Errorf("%d suites, want the first two", len(got))
	}
	if got := measurement.Suites(rows, measurement.Measured, 8); len(got) != 0 {
		t.Errorf("%d suites of another provenance", len(got))
	}
}

func TestSpread(t *testing.T) {
	sd, se := measurement.Spread([]float64{1, 2, 4})
	if want := math.Sqrt(7.0 / 3); math.Abs(sd-want) > 1e-15 || math.Abs(se-want/math.Sqrt(3)) > 1e-15 {
		t.Errorf("spread %v and %v, want %v", sd, se, want)
	}
	for _, few := range [][]float64{nil, {3}} {
		if sd, se := measurement.Spread(few); !math.IsNaN(sd) || !math.IsNaN(se) {
			t.Errorf("spread of %v is %v, %v", few, sd, se)
		}
	}
	if sd, _ := measurement.Spread([]float64{5, 5}); sd != 0 {
		t.Errorf("spread of equal values %v", sd)
	}
}
