package dag

import (
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"

	"speceval/internal/machine/process"
)

// expect says how long each planned unit takes: as last time by its size, or else what its
// stage states for this machine, or else the mean of its stage.
func (p *planner) expect() {
	type sum struct{ seconds, units float64 }
	earlier := make([]sum, len(p.graph.stages))
	for i := range p.records {
		if m := p.records[i].Last; m != nil {
			e := &earlier[p.graph.nodes[i].stage]
			e.seconds, e.units = e.seconds+m.WallSeconds, e.units+1
		}
	}
	slower := sync.OnceValue(p.slower)
	for i := range p.records {
		if !p.planned[i] {
			continue
		}
		r, mean := &p.records[i], earlier[p.graph.nodes[i].stage]
		switch cost := r.Declared.Cost; {
		case r.Last != nil && (cost == 0 || r.asConfigured()):
			r.Seconds = r.Last.WallSeconds * r.growth()
		case cost > 0:
			r.Seconds, r.Stated = cost*slower(), true
		case mean.units > 0:
			r.Seconds = mean.seconds / mean.units
		default:
			r.Seconds = -1
		}
		r.Left = p.snapshot.left(r)
		r.Seconds *= r.Left
	}
}

// growth is the first quantity of a changed unit, as it expects it, over the rows of its last run.
func (r *Record) growth() float64 {
	rows := 0
	for _, f := range r.Last.Outputs {
		rows += max(0, f.Rows)
	}
	if len(r.Declared.Expect) == 0 || rows == 0 || r.Key == r.Last.Key {
		return 1
	}
	return r.Declared.Expect[0].Amount / float64(rows)
}

// asConfigured reports whether the unit last ran with the configuration of now.
func (r *Record) asConfigured() bool {
	return maps.Equal(r.Last.Parts.Config, r.Declared.Config)
}

// slower is how many seconds a unit takes here for a second of its cost: as the units
// that have run did, or as a short measurement says.
func (p *planner) slower() float64 {
	const enough = 30 // seconds of units that have run tell more of a machine than a measurement
	if p.snapshot.slow > 0 {
		return p.snapshot.slow
	}
	took, stated := 0.0, 0.0
	for i := range p.records {
		if r := &p.records[i]; r.Last != nil && r.Declared.Cost > 0 && r.asConfigured() {
			took, stated = took+r.Last.WallSeconds, stated+r.Declared.Cost
		}
	}
	if took < enough {
		return measure()
	}
	return took / stated
}

// The measurement: work of the kind that units do, and the processor time that it took on
// the machine whose seconds the costs of units are. Systems count such time by ticks of
// some milliseconds: shorter work is not measured.
const (
	measuredSteps    = 4_000_000
	referenceSeconds = 37e-3
)

// measure compares this machine with the one whose seconds the costs of units are, by
// the processor's time: others may use the machine now.
func measure() float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start, sink := process.ThreadSeconds(), 0.0
	table := make([]float64, 1<<12)
	for i := range measuredSteps {
		x := math.Exp(-float64(i%97) / 64)
		at := &table[(i*2654435761)&(len(table)-1)]
		*at += x * float64(i&7)
		sink += *at / (1 + x)
	}
	took := process.ThreadSeconds() - start
	if took <= 0 || sink < 0 { // the system does not tell; sink keeps the work from being optimized away
		return 1
	}
	return took / referenceSeconds
}

// Estimate is how long units will take.
type Estimate struct {
	Seconds float64 // wall time with the given number of workers
	Stated  int     // units that go by their cost; the others by earlier runs
	Unknown int     // units that nothing is known about and Seconds leaves out
}

// Estimate sums the times of the units to run and divides by the workers that can be
// busy at once.
func (p *StagePlan) Estimate(workers int) (e Estimate) {
	for _, r := range p.Run {
		e.Seconds += max(0, r.Seconds)
		if r.Stated {
			e.Stated++
		}
		if r.Seconds < 0 {
			e.Unknown++
		}
	}
	e.Seconds /= float64(max(1, min(workers, len(p.Run))))
	return e
}

// Estimate sums the estimates of the stages.
func (p *Plan) Estimate(workers int) (total Estimate) {
	for i := range p.Stages {
		e := p.Stages[i].Estimate(workers)
		total.Seconds += e.Seconds
		total.Stated += e.Stated
		total.Unknown += e.Unknown
	}
	return total
}

// Expect sums what the units to run take, less what is done of them, in the order in which they
// name it.
func (p *StagePlan) Expect() []Quantity {
	var sums []Quantity
	for _, r := range p.Run {
		for _, q := range r.Declared.Expect {
			at := slices.IndexFunc(sums, func(s Quantity) bool { return s.Name == q.Name })
			if at < 0 {
				at, sums = len(sums), append(sums, Quantity{Name: q.Name})
			}
			sums[at].Amount += q.Amount * r.Left
		}
	}
	return sums
}
