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

	"speceval/internal/machine/process"
)

// prepare makes the job of unit i from what is on disk now.
func (s *Snapshot) prepare(i int, origin Origin) (*Job, error) {
	g := s.graph
	parts, blocked := s.partsOf(i)
	if len(blocked) > 0 {
		return nil, fmt.Errorf("unit %s needs outputs of %s, which are not there", g.nodes[i].ref, g.nodes[blocked[0]].ref)
	}
	j := &Job{
		dir: s.dir, ref: g.nodes[i].ref, unit: g.nodes[i].unit, before: s.records[i],
		absent: make(map[string]string), written: make(map[string]File),
		made: Manifest{Format: manifestFormat, Key: parts.Key(), Parts: parts, Origin: origin, Inputs: []File{}, Seeds: []string{}},
	}
	read := make(map[string]bool) // outputs; the same unit may be needed twice
	for _, need := range g.nodes[i].needs {
		r := &s.records[need]
		for k, output := range g.nodes[need].unit.Outputs {
			if !r.usable() {
				j.absent[output] = g.nodes[need].ref.Stage
				continue
			}
			if read[output] {
				continue
			}
			read[output] = true
			input, recorded := r.Last.output(output)
			if recorded && input.SHA256 != r.have[k] {
				j.altered = append(j.altered, output)
				j.Note("it is made from %s, which was not as recorded: damaged, or edited", output)
			}
			input.Path, input.SHA256 = output, r.have[k]
			j.made.Inputs = append(j.made.Inputs, input)
		}
	}
	return j, nil
}

// run computes the unit and writes its manifest. A panic of the unit becomes
// an error. It may be called on any goroutine.
func (j *Job) run(ctx context.Context, now func() time.Time) (err error) {
	m := &j.made
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil && len(m.Notes) > 0 {
			err = fmt.Errorf("%w (%s)", err, strings.Join(m.Notes, "; "))
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	defer j.letGo()
	runtime.LockOSThread() // so that the thread's CPU time is the unit's
	defer runtime.UnlockOSThread()
	start, cpu := now(), process.ThreadSeconds()
	if err := j.unit.Run(ctx, j); err != nil {
		return err
	}
	m.Provenance = cmp.Or(j.unit.Provenance, m.Provenance)
	m.Start, m.WallSeconds = start.UTC(), microseconds(max(0, now().Sub(start).Seconds())) // the clock may be set back
	m.CPUSeconds, m.PeakBytes = microseconds(process.ThreadSeconds()-cpu), process.Used().PeakBytes
	if j.unit.Seed != "" {
		m.Seeds = append(m.Seeds, j.unit.Seed)
	}
	if m.Outputs, err = j.outputs(); err != nil {
		return err
	}
	if err := writeManifest(j.dir, j.ref, m); err != nil {
		return err
	}
	return j.sweepScratch()
}

// microseconds rounds seconds to what clocks can tell.
func microseconds(seconds float64) float64 { return math.Round(seconds*1e6) / 1e6 }
