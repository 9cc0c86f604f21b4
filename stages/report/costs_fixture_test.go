package report

import (
	"math"
	"slices"
	"sync"
	"testing"

	"speceval/data"
	"speceval/internal/measurement"
)

// paperCosts is the published runs with the study's ratios.
func paperCosts(t testing.TB, s stored) Costs {
	t.Helper()
	runs, err := publishedMeasurements()
	if err != nil {
		t.Fatal(err)
	}
	return Costs{Runs: slices.Clone(runs), Results: s.Results}
}

var publishedMeasurements = sync.OnceValues(func() ([]measurement.Measurement, error) {
	return measurement.Parse(data.Measurements(), data.MeasurementsName)
})

// storedCosts is the rows of Tables 2 to 4.
func storedCosts(t testing.TB, costs Costs) map[string][]costRow {
	t.Helper()
	out := map[string][]costRow{}
	for _, kind := range costKinds {
		rows, err := costRows(kind, costs)
		if err != nil {
			t.Fatal(err)
		}
		out[kind.base] = rows
	}
	return out
}

// executed makes up executions of the runs of some profiles: each repeat takes
// a share longer than the one before, around the time that it is made after.
func executed(runs []measurement.Measurement, provenance string, repeats int, step float64, wanted func(measurement.Measurement) bool) (means []measurement.Measurement, all []measurement.Repeat) {
	for _, m := range runs {
		if m.Provenance != measurement.Published || !wanted(m) {
			continue
		}
		m.Provenance = provenance
		means = append(means, m)
		for k := range repeats {
			one := measurement.Repeat{Measurement: m, Repeat: int32(k)}
			if m.Strategy == measurement.HBNAsync {
				one.TimeSeconds *= 1 + step*(float64(k)-float64(repeats-1)/2)
			}
			all = append(all, one)
		}
	}
	return means, all
}

const (
	fleetRepeats = 3
	fleetStep    = 0.002 // of the time of HBN-async, from one repeat to the next
)

// withFleet adds a simulated suite of every profile, three times over, and
// measured runs of the profiles of AIME24.
func withFleet(costs Costs) Costs {
	everything := func(measurement.Measurement) bool { return true }
	aime := func(m measurement.Measurement) bool { return m.Benchmark == "aime24" }
	published := costs.Runs
	for _, e := range []struct {
		provenance string
		repeats    int
		wanted     func(measurement.Measurement) bool
	}{{measurement.Simulated, fleetRepeats, everything}, {measurement.Measured, 1, aime}} {
		means, all := executed(published, e.provenance, e.repeats, fleetStep, e.wanted)
		costs.Runs = append(costs.Runs, means...)
		costs.Repeats = append(costs.Repeats, all...)
	}
	return costs
}

// fleetStudy is the paper's study with a simulated fleet that behaves as the
// published one did, and some measured runs.
func fleetStudy(t *testing.T) stored {
	t.Helper()
	fleetOnce.Do(func() {
		fleetMade = paperStudy(t)
		fleetMade.costs = storedCosts(t, withFleet(paperCosts(t, fleetMade)))
	})
	return fleetMade.clone()
}

var (
	fleetOnce sync.Once
	fleetMade stored
)

// smallCosts is made-up runs of the small study in all provenances: costs that
// differ from profile to profile, two repeats of the simulated ones, a single
// measured profile.
func smallCosts(s stored) Costs {
	costs := Costs{Results: s.Results}
	for i, r := range s.Ratios {
		if r.Policy != "hbn" {
			continue
		}
		size := 1 + float64(i%5)
		for _, strategy := range []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync, measurement.UniformEquivalent} {
			m := measurement.Measurement{
				Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks, ReferenceBudget: r.Budget, Budget: r.Budget,
				Strategy: strategy, Provenance: measurement.Published, TimeSeconds: 50 * size, UsefulFLOPs: size * 1e16,
			}
			switch strategy {
			case measurement.HBNSync:
				m.TimeSeconds, m.UsefulFLOPs = m.TimeSeconds*(1.2+0.01*size), m.UsefulFLOPs*1.02
			case measurement.HBNAsync:
				m.TimeSeconds, m.UsefulFLOPs = m.TimeSeconds*(1.05-0.01*size), m.UsefulFLOPs*(1.01+0.005*size)
				m.WastedFLOPs, m.ExtraRollouts = 7e12*size, int32(i)
			case measurement.UniformEquivalent:
				m.Budget = int32(math.Floor(float64(r.Budget)/r.VarianceRatio)) + int32(i%2)
				m.TimeSeconds *= float64(m.Budget) / float64(m.ReferenceBudget)
			}
			m.AcceptedRollouts = m.NTasks * m.Budget
			costs.Runs = append(costs.Runs, m)
		}
	}
	everything := func(measurement.Measurement) bool { return true }
	one := func(m measurement.Measurement) bool { return m.Benchmark == "aime24" }
	simulated, repeats := executed(costs.Runs, measurement.Simulated, 2, 0.01, everything)
	measured, once := executed(costs.Runs, measurement.Measured, 1, 0, one)
	costs.Runs = append(append(costs.Runs, simulated...), measured...)
	costs.Repeats = append(repeats, once...)
	return costs
}
