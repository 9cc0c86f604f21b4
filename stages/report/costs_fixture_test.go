package report_test

import (
	"math"
	"slices"
	"sync"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/results/variance"
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
		fleetMade.costs = fleetMade.withExecutions(fleetRepeats, fleetStep).withBenefit()
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
		if r.Policy != policy.HBN.Name {
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
	return c.withExecutions(2, 0.01).withBenefit()
}

// withBenefit adds executions of the policies in stages to the simulated suites: from
// policy to policy 2% faster than HBN-async, and worth a tenth more of b.
func (c costs) withBenefit() costs {
	uniform := func(r measurement.Repeat, strategy string, budget int32) measurement.Benefit {
		r.Strategy, r.TimeSeconds, r.Budget = strategy, r.TimeSeconds*float64(budget)/float64(r.Budget), budget
		r.AcceptedRollouts, r.WastedFLOPs, r.ExtraRollouts = r.NTasks*budget, 0, 0
		return measurement.Benefit{Of: measurement.Of{Policy: policy.Uniform.Name, Donors: policy.None.Name, Equivalent: budget}, Repeat: r}
	}
	for _, r := range c.repeats {
		if r.Provenance != measurement.Simulated {
			continue
		}
		if r.Strategy == measurement.Uniform {
			c.benefit = append(c.benefit, uniform(r, measurement.Uniform, r.Budget))
		}
		if r.Strategy != measurement.HBNAsync {
			continue
		}
		for i, p := range policy.Timed {
			own := measurement.Benefit{Of: measurement.Of{Policy: p.Name, Donors: p.Donors.Name, Equivalent: r.Budget + r.Budget*int32(2+i)/10}, Repeat: r}
			own.TimeSeconds *= 1 - 0.02*float64(i)
			own.WastedFLOPs *= float64(1 + i)
			c.benefit = append(c.benefit, own)
			if worth := uniform(r, measurement.UniformEquivalent, own.Equivalent); !slices.Contains(c.benefit, worth) {
				c.benefit = append(c.benefit, worth)
			}
		}
	}
	return c
}
