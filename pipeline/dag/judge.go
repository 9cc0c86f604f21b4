package dag

import (
	"runtime"
	"slices"
)

// State says how a unit's record stands to what would be computed now.
type State int

// The states of a unit, from worst to best.
const (
	Missing State = iota // never run, as far as any manifest knows
	Stale                // run, but not of this, or its outputs are not there as made
	Fresh                // has a manifest for its key and the outputs that it recorded
)

// String is the state as status prints it.
func (s State) String() string {
	return [...]string{"missing", "stale", "fresh"}[s]
}

// verdict is what the disk alone says about a unit, whatever else will run.
type verdict struct {
	reasons []Reason // none = fresh
	blocked []int    // needed units without usable outputs
	key     string   // with the inputs that are there now; empty if blocked
}

// judge compares the record of unit i with the unit as it is declared now.
func (s *Snapshot) judge(i int) verdict {
	r := &s.records[i]
	var v verdict
	v.key, v.blocked = s.key(i)
	switch {
	case r.problem != nil:
		v.reasons = []Reason{{Kind: Unreadable, New: r.problem.Error()}}
		return v
	case r.manifest == nil:
		v.reasons = []Reason{{Kind: NeverRun}}
		return v
	}
	if r.manifest.Key != v.key { // also when blocked: v.key is empty
		v.reasons = s.changes(i)
	}
	v.reasons = append(v.reasons, s.outputReasons(i)...)
	return v
}

// changes are the reasons why the key of unit i, which has a manifest, is
// another now.
func (s *Snapshot) changes(i int) []Reason {
	before, n := &s.records[i].manifest.Parts, &s.graph.nodes[i]
	stage := s.graph.stageOf(i)
	now := Parts{
		Format: keyFormat, Stage: stage.Name, Version: stage.Version, Unit: n.unit.ID, Seed: n.unit.Seed,
		Config: n.unit.Config, Sources: sourceSums(n.unit), Inputs: make(map[string]string),
	}
	for k, need := range n.needs {
		r := &s.records[need]
		for at, output := range s.graph.nodes[need].unit.Outputs {
			if r.usable() {
				now.Inputs[output] = r.have[at]
			} else if sum, had := before.Inputs[output]; had && k < n.wanted {
				now.Inputs[output] = sum // nothing is known of it: no change to report
			}
		}
	}
	return changes(before, &now)
}

// verdicts judge every unit.
func (s *Snapshot) verdicts() []verdict {
	verdicts := make([]verdict, len(s.graph.nodes))
	spread(len(verdicts), runtime.GOMAXPROCS(0), func(next func() (int, bool)) {
		for i, more := next(); more; i, more = next() {
			verdicts[i] = s.judge(i)
		}
	})
	return verdicts
}

// outputReasons says what is wrong with the outputs of unit i, which has a
// manifest.
func (s *Snapshot) outputReasons(i int) []Reason {
	unit, r := s.graph.nodes[i].unit, &s.records[i]
	var reasons []Reason
	if unit.Provenance != "" && r.manifest.Provenance != unit.Provenance {
		reasons = append(reasons, Reason{Provenance, "", r.manifest.Provenance, unit.Provenance})
	}
	for k, output := range unit.Outputs {
		made, known := r.manifest.output(output)
		switch {
		case !known:
			reasons = append(reasons, Reason{Kind: OutputDeclared, Subject: output, New: "new"})
		case r.have[k] == "":
			reasons = append(reasons, Reason{Kind: OutputMissing, Subject: output})
		case r.have[k] != made.SHA256:
			reasons = append(reasons, Reason{OutputEdited, output, made.SHA256, r.have[k]})
		}
	}
	return append(reasons, noLongerWritten(r.manifest.Outputs, unit.Outputs)...)
}

// noLongerWritten are the reasons of outputs made that are not declared.
func noLongerWritten(made []File, outputs []string) []Reason {
	if slices.EqualFunc(made, outputs, func(f File, output string) bool { return f.Path == output }) {
		return nil // as a rule
	}
	declared := make(map[string]bool, len(outputs))
	for _, output := range outputs {
		declared[output] = true
	}
	var reasons []Reason
	for _, f := range made {
		if !declared[f.Path] {
			reasons = append(reasons, Reason{Kind: OutputDeclared, Subject: f.Path, New: "no longer written"})
		}
	}
	return reasons
}

// state sums up a unit that will run for the given reasons.
func (s *Snapshot) state(i int, reasons []Reason) State {
	switch {
	case s.records[i].manifest == nil && s.records[i].problem == nil:
		return Missing
	case len(reasons) > 0:
		return Stale
	}
	return Fresh
}
