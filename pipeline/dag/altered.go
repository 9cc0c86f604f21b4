package dag

import (
	"fmt"
	"strings"
)

// mostAltered is how many altered outputs of a stage a warning names.
const mostAltered = 5

// alteredOutputs are the outputs of unit i that are there, and not as its manifest
// recorded them.
func (s *Snapshot) alteredOutputs(i int) (names []string) {
	r := &s.records[i]
	if r.manifest == nil {
		return nil
	}
	for k, output := range s.graph.nodes[i].unit.Outputs {
		if made, known := r.manifest.output(output); known && r.have[k] != "" && r.have[k] != made.SHA256 {
			names = append(names, output)
		}
	}
	return names
}

// altered warns of the stored outputs that planned units are made from, at any distance,
// and that were edited or damaged since they were made.
func (p *planner) altered() (warnings []string) {
	s := p.snapshot
	g := s.graph
	behind := make([]bool, len(g.nodes)) // what is planned
	for i := len(g.nodes) - 1; i >= 0; i-- {
		if p.planned[i] || behind[i] {
			for _, need := range g.nodes[i].needs {
				behind[need] = true
			}
		}
	}
	byStage := make([][]string, len(g.stages))
	for i := range g.nodes {
		if behind[i] && !p.planned[i] {
			at := g.nodes[i].stage
			byStage[at] = append(byStage[at], s.alteredOutputs(i)...)
		}
	}
	for at, names := range byStage {
		if len(names) > 0 {
			warnings = append(warnings, alteredWarning(names, g.stages[at].Name))
		}
	}
	return warnings
}

func alteredWarning(names []string, stage string) string {
	which, are := strings.Join(names[:min(mostAltered, len(names))], ", "), "is"
	if more := len(names) - mostAltered; more > 0 {
		which += fmt.Sprintf(" and %d more", more)
	}
	if len(names) > 1 {
		are = "are"
	}
	return fmt.Sprintf("%s %s not as recorded: damaged, or edited; what is made from stored outputs has that in it. `speceval run %s` makes the outputs anew, and keeps these beside them", which, are, stage)
}

// Altered are the inputs that are not what the units that made them have recorded: they
// were edited or damaged since. They are inputs all the same.
func (j *Job) Altered() []string { return j.altered }
