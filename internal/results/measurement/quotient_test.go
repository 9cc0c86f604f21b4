package measurement_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
)

// seconds is the time of a strategy.
func seconds(strategy string) measurement.Term {
	return func(s measurement.Setting) float64 { return s.Run(strategy).TimeSeconds }
}

// TestQuotientsArePlainSums holds the value against sums of runs that are not grouped.
func TestQuotientsArePlainSums(t *testing.T) {
	flops := func(s measurement.Setting) float64 { return s.Run(measurement.HBNAsync).UsefulFLOPs }
	wasted := func(s measurement.Setting) float64 { return s.Run(measurement.HBNAsync).WastedFLOPs }
	uniform := func(s measurement.Setting) float64 { return s.Uniform().UsefulFLOPs }
	source := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		runs := randomRuns(source, 1+source.IntN(9))
		time, useful, waste := map[string]float64{}, map[string]float64{}, 0.0
		for _, m := range runs {
			time[m.Strategy] += m.TimeSeconds
			useful[m.Strategy] += m.UsefulFLOPs
			waste += m.WastedFLOPs
		}
		settings := measurement.Settings(runs, measurement.Simulated, 8)
		base, compute := time[measurement.Uniform], useful[measurement.Uniform]
		for name, c := range map[string]struct {
			got, want float64
		}{
			"a share":        {measurement.Quotient(settings, uniform, wasted), waste / compute},
			"a slowdown":     {measurement.Quotient(settings, seconds(measurement.Uniform), seconds(measurement.HBNSync)), time[measurement.HBNSync] / base},
			"a share of two": {measurement.Quotient(settings, uniform, flops, wasted), (useful[measurement.HBNAsync] + waste) / compute},
		} {
			if math.Abs(c.got-c.want) > 1e-12*(1+math.Abs(c.want)) {
				t.Fatalf("%s is %v, want %v", name, c.got, c.want)
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
	got := measurement.Quotient(measurement.Settings(all, measurement.Simulated, 8), seconds(measurement.Uniform), seconds(measurement.HBNSync)) - 1
	if want := 199.8 / (1e15 + 99.9); math.Abs(got-want) > 2e-16 {
		t.Errorf("slowdown %v, want %v", got, want)
	}
}

// timed is one policy in two repeats, worth 10 rollouts a task, with its Uniforms.
func timed() (all []measurement.Benefit) {
	for _, r := range repeated(setting(measurement.Simulated), 2) {
		of := measurement.Of{Policy: measurement.Uniform, Donors: "none", Equivalent: r.Budget}
		switch r.Strategy {
		case measurement.HBNSync:
			continue
		case measurement.HBNAsync:
			of = measurement.Of{Policy: policy.Staged.Name, Donors: "none", Equivalent: 9}
		}
		all = append(all, measurement.Benefit{Of: of, Repeat: r})
	}
	return all
}

func TestBenefitIsGroupedWithItsUniforms(t *testing.T) {
	rows := timed()
	strategies := []string{measurement.Uniform, measurement.HBNAsync, measurement.UniformEquivalent}
	all, err := measurement.BenefitGroups(rows, strategies...)
	groups := all[policy.Staged.Key()]
	if err != nil || len(groups) != 1 || groups[0].Budget != 8 || groups[0].Repeats() != 2 {
		t.Fatalf("%+v, %v", groups, err)
	}
	s := groups[0].Settings[0]
	if s.Run(measurement.UniformEquivalent).Budget != 9 || s.Uniform().Budget != 8 || s.Uniform().TimeSeconds != 2 {
		t.Errorf("means over 1.5 and 2.5 seconds: %+v", s)
	}
	if len(all) != 1 {
		t.Errorf("groups of policies that were not executed: %+v", all)
	}
	rows[1].Equivalent = 10
	_, err = measurement.BenefitGroups(rows, strategies...)
	wantError(t, err, "systems/benefit.parquet: b__model=m at budget 8 has no execution of uniform-equivalent at 10 for hbn_staged in repeat 0")
}
