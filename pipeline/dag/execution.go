package dag

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"speceval/internal/process"
)

// prepare makes the job of unit i from what is on disk now.
func (s *Snapshot) prepare(i int, origin Origin) (*execution, error) {
	g := s.graph
	parts, blocked := s.partsOf(i)
	if len(blocked) > 0 {
		return nil, fmt.Errorf("unit %s needs outputs of %s, which are not there", g.ref(i), g.ref(blocked[0]))
	}
	unit := g.nodes[i].unit
	e := &execution{parts: parts, inputs: []File{}}
	e.job = &Job{
		dir: s.dir, ref: g.ref(i), unit: unit, key: parts.Key(), origin: origin,
		inputs:   make(map[string]string),
		absent:   make(map[string]string),
		recorded: make(map[string]string),
		damaged:  make(map[string]bool), discredited: make(map[string]bool),
		written: make(map[string]File),
	}
	if m := s.records[i].Last; m != nil {
		for _, f := range m.Outputs {
			e.job.recorded[f.Path] = f.SHA256
		}
		e.job.fresh = m.Key == e.job.key
		for k, output := range unit.Outputs {
			same := s.records[i].have[k] == e.job.recorded[output]
			e.job.fresh = e.job.fresh && same
			e.job.damaged[output] = m.Key == e.job.key && e.job.recorded[output] != "" && !same
		}
	}
	for _, need := range g.nodes[i].needs {
		r := &s.records[need]
		if !r.usable() {
			e.job.lacks(g.stageOf(need).Name, g.nodes[need].unit.Outputs)
			continue
		}
		for k, output := range g.nodes[need].unit.Outputs {
			if e.job.inputs[output] != "" {
				continue // the same unit is needed twice
			}
			e.job.inputs[output] = r.have[k]
			input, recorded := r.Last.output(output)
			if recorded && input.SHA256 != r.have[k] {
				e.job.altered = append(e.job.altered, output)
				e.job.Note("it is made from %s, which was not as recorded: damaged, or edited", output)
			}
			input.Path, input.SHA256 = output, r.have[k]
			e.inputs = append(e.inputs, input)
		}
	}
	return e, nil
}

// execution is one unit about to run.
type execution struct {
	job    *Job
	parts  Parts
	inputs []File
}

// run computes the unit and writes its manifest. A panic of the unit becomes
// an error. It may be called on any goroutine.
func (e *execution) run(ctx context.Context, now func() time.Time) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil && len(e.job.notes) > 0 {
			err = fmt.Errorf("%w (%s)", err, strings.Join(e.job.notes, "; "))
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	defer e.job.letGo()
	runtime.LockOSThread() // so that the thread's CPU time is the unit's
	defer runtime.UnlockOSThread()
	start, cpu := now(), process.ThreadSeconds()
	if err := e.job.unit.Run(ctx, e.job); err != nil {
		return err
	}
	m := &Manifest{
		Format: manifestFormat, Key: e.job.key, Parts: e.parts, Provenance: cmp.Or(e.job.unit.Provenance, e.job.provenance),
		Inputs: e.inputs, Notes: e.job.notes, Origin: e.job.origin, Start: start.UTC(),
		WallSeconds: microseconds(elapsed(start, now())),
		CPUSeconds:  microseconds(process.ThreadSeconds() - cpu),
		PeakBytes:   process.Used().PeakBytes,
		Seeds:       []string{},
	}
	if e.job.unit.Seed != "" {
		m.Seeds = append(m.Seeds, e.job.unit.Seed)
	}
	if m.Outputs, err = e.job.outputs(); err != nil {
		return err
	}
	if err := writeManifest(e.job.dir, e.job.ref, m); err != nil {
		return err
	}
	return e.job.sweepScratch()
}

// elapsed is the time from start to end in seconds; none where the clock was set
// back in between.
func elapsed(start, end time.Time) float64 { return max(0, end.Sub(start).Seconds()) }

// microseconds rounds seconds to what clocks can tell.
func microseconds(seconds float64) float64 { return math.Round(seconds*1e6) / 1e6 }
