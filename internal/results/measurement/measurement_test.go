package measurement_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"speceval/internal/results/measurement"
)

// setting is sound runs of one profile at b = 8 under all four strategies.
func setting(provenance string) []measurement.Measurement {
	var runs []measurement.Measurement
	for _, strategy := range []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync, measurement.UniformEquivalent} {
		m := measurement.Measurement{
			Benchmark: "b", Model: "m", NTasks: 30, ReferenceBudget: 8, Budget: 8,
			Strategy: strategy, Provenance: provenance,
			TimeSeconds: 1.5, UsefulFLOPs: 1e16, AcceptedRollouts: 240,
		}
		switch strategy {
		case measurement.HBNAsync:
			m.WastedFLOPs, m.ExtraRollouts = 1e14, 3
		case measurement.UniformEquivalent:
			m.Budget, m.AcceptedRollouts = 9, 270
		}
		runs = append(runs, m)
	}
	return runs
}

// repeated is n executions of the same.
func repeated(runs []measurement.Measurement, n int32) []measurement.Repeat {
	var out []measurement.Repeat
	for repeat := range n {
		for _, m := range runs {
			m.TimeSeconds += float64(repeat)
			out = append(out, measurement.Repeat{Measurement: m, Repeat: repeat})
		}
	}
	return out
}

func TestUnsoundRowsAreRefused(t *testing.T) {
	cases := map[string]func(*measurement.Measurement){
		"benchmark or model is empty": func(m *measurement.Measurement) { m.Model = "" },
		"is not positive":             func(m *measurement.Measurement) { m.NTasks = 0 },
		"differs from reference":      func(m *measurement.Measurement) { m.ReferenceBudget = 16 },
		`strategy "" is unknown`:      func(m *measurement.Measurement) { m.Strategy = "" },
		`provenance "guessed"`:        func(m *measurement.Measurement) { m.Provenance = "guessed" },
		"time NaN s":                  func(m *measurement.Measurement) { m.TimeSeconds = math.NaN() },
		"time +Inf s":                 func(m *measurement.Measurement) { m.TimeSeconds = math.Inf(1) },
		"time 0 s":                    func(m *measurement.Measurement) { m.TimeSeconds = 0 },
		"useful -1":                   func(m *measurement.Measurement) { m.UsefulFLOPs = -1 },
		"useful +Inf":                 func(m *measurement.Measurement) { m.UsefulFLOPs = math.Inf(1) },
		"wasted -1":                   func(m *measurement.Measurement) { m.WastedFLOPs = -1 },
		"wasted NaN":                  func(m *measurement.Measurement) { m.WastedFLOPs = math.NaN() },
		"n_tasks × budget = 240":      func(m *measurement.Measurement) { m.AcceptedRollouts = 239 },
		"extra_rollouts -1":           func(m *measurement.Measurement) { m.ExtraRollouts = -1 },
		"1 extra rollouts or 0 wasted FLOPs under hbn-sync": func(m *measurement.Measurement) { m.ExtraRollouts = 1 },
		"0 extra rollouts or 5 wasted FLOPs under hbn-sync": func(m *measurement.Measurement) { m.WastedFLOPs = 5 },
	}
	for want, spoil := range cases {
		rows := setting(measurement.Simulated)
		spoil(&rows[1])
		wantError(t, rows[1].Check(), "", want)
	}
}

func wantError(t *testing.T, err error, prefix string, texts ...string) {
	t.Helper()
	got := fmt.Sprint(err)
	for _, text := range texts {
		if !strings.HasPrefix(got, prefix) || !strings.Contains(got, text) {
			t.Errorf("error %q, want one with %q", got, text)
		}
	}
}

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
			if i > 0 && got[i-1][0].Profile() >= s[0].Profile() {
				t.Errorf("%s comes after %s", s[0].Profile(), got[i-1][0].Profile())
			}
			for _, m := range s {
				if s.Run(m.Strategy) != m || m.Provenance != c.provenance || m.Profile() != s[0].Profile() {
					t.Errorf("%+v among the runs of %s", m, s[0].Profile())
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
