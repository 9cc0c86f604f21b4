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
