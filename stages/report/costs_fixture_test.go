package report_test

import (
	"math"
	"sync"
	"testing"

	"speceval/internal/measurement"
	"speceval/internal/variance"
)

// executed makes up executions of the runs of some profiles: each repeat takes
// a share longer than the one before, around the time that it is made after.
func executed(runs []measurement.Measurement, provenance string, repeats int, step float64, wanted func(measurement.Measurement) bool) (means []measurement.Measurement, all []measurement.Repeat) {
	for _, m := range runs {
		if executedHere(m) || !wanted(m) {
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

func everything(measurement.Measurement) bool { return true }

func ofAIME24(m measurement.Measurement) bool { return m.Benchmark == "aime24" }

// withExecutions adds a simulated suite of every profile, and measured runs of the
// profiles of AIME24.
func (c costs) withExecutions(repeats int, step float64) costs {
	simulated, several := executed(c.timed, measurement.Simulated, repeats, step, everything)
	measured, once := executed(c.timed, measurement.Measured, 1, step, ofAIME24)
	c.timed = append(append(c.timed, simulated...), measured...)
	c.repeats = append(several, once...)
	return c
}

// fleetStudy is the paper's study with a simulated fleet that behaves as the
// published one did, three times over, and some measured runs.
func fleetStudy(t testing.TB) study {
	t.Helper()
	fleetOnce.Do(func() {
		fleetMade = paperStudy(t)
		fleetMade.costs = fleetMade.withExecutions(fleetRepeats, fleetStep)
	})
	return fleetMade.clone()
}

var (
	fleetOnce sync.Once
	fleetMade study
)

// smallCosts is made-up runs of the small study in all provenances: costs that
// differ from profile to profile, two repeats of the simulated ones, a single
// measured profile.
func smallCosts(ratios []variance.Ratio) (c costs) {
	for i, r := range ratios {
		if r.Policy != variance.HBN {
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
			c.timed = append(c.timed, m)
		}
	}
	return c.withExecutions(2, 0.01)
}
