package dag

import (
	"cmp"
	"fmt"
	"slices"

	"speceval/internal/store/group"
	"speceval/internal/terminal/display"
)

// Plan is exactly what a run will do, and why.
type Plan struct {
	Stages   []StagePlan // the selected stages, in order
	Warnings []string    // about inputs that are used though stale

	snapshot *Snapshot
	records  []Record // of all units
	planned  []bool   // by unit: will run
}

// StagePlan is the part of a plan that concerns one stage.
type StagePlan struct {
	Stage *Stage
	Run   []Record // units with something to do, in running order
}

// Units is the number of units that will run.
func (p *Plan) Units() int {
	n := 0
	for _, s := range p.Stages {
		n += len(s.Run)
	}
	return n
}

// Records are the records of all units, each after the units that it needs, as a run
// of everything would find them.
func (s *Snapshot) Records() []Record {
	p, err := s.Plan(Selection{})
	if err != nil {
		panic(err) // a plan of everything lacks no input
	}
	return p.records
}

// Plan computes what a run of the selection does. A unit is planned if it is
// not fresh or is forced, or if a selected unit that it needs is planned.
// Inputs from stages not selected are used as they are stored: with a warning
// if they are stale or only wanted and not there, and an error if they are needed and not
// there.
func (s *Snapshot) Plan(sel Selection) (*Plan, error) {
	selected, err := s.graph.selected(sel)
	if err != nil {
		return nil, err
	}
	p := &planner{graph: s.graph, sel: sel, selected: selected,
		Plan: &Plan{snapshot: s, records: slices.Clone(s.records), planned: make([]bool, len(s.records))}}
	for i := range p.records {
		p.assess(i)
	}
	if err := p.warnOfForeign(); err != nil {
		return nil, err
	}
	p.warnOfAltered()
	p.expect()
	run := make([][]Record, len(s.graph.stages))
	for i, r := range p.records {
		if at := s.graph.nodes[i].stage; p.planned[i] {
			run[at] = append(run[at], r)
		}
	}
	for at := range run {
		if selected[at] {
			p.Stages = append(p.Stages, StagePlan{&s.graph.stages[at], run[at]})
		}
	}
	return p.Plan, nil
}

// planner makes a plan: it walks the units in order, once.
type planner struct {
	*Plan
	graph    *Graph
	sel      Selection
	selected []bool    // by stage
	foreign  []foreign // inputs from stages not selected that are not fresh
}

// foreign is a unit of one stage that another stage reads.
type foreign struct {
	stage, from int // into Graph.stages
	how         int
	unit        int // into Graph.nodes
}

// How inputs from a stage that is not selected stand.
const (
	lacking    = iota // needed, and not there
	wantedOnly        // not there, and not needed
	outdated
)

// assess judges unit i, and whether it will run: for reasons of its own, for inputs that will
// be remade or are not there, or since it is asked to.
func (p *planner) assess(i int) {
	r, n := &p.records[i], &p.graph.nodes[i]
	r.Reasons, r.Key = p.snapshot.judge(i)
	switch r.State = Fresh; {
	case r.Last == nil && r.problem == nil:
		r.State = Missing
	case len(r.Reasons) > 0:
		r.State = Stale
	}
	selected := p.selected[n.stage]
	for k, need := range n.needs {
		input, needed := &p.records[need], k < n.wanted
		if r.State == Fresh && input.State != Fresh && (needed || input.usable()) { // others are done without
			r.State = Stale
		}
		if !selected {
			continue
		}
		kind, how := Forced, wantedOnly // Forced: no reason
		switch {
		case p.planned[need]:
			if r.Key = ""; r.State != Missing { // that it has never run says enough
				kind = InputRemade
			}
		case input.usable():
			how = outdated
		case needed:
			kind, how = InputMissing, lacking
		}
		for _, output := range input.Declared.Outputs {
			if kind != Forced {
				r.Reasons = append(r.Reasons, Reason{Kind: kind, Subject: output})
			}
		}
		if from := p.graph.nodes[need].stage; !p.selected[from] && input.State != Fresh {
			p.foreign = append(p.foreign, foreign{n.stage, from, how, need})
		}
	}
	if selected && len(r.Reasons) == 0 && p.sel.Force {
		r.Reasons = []Reason{{Kind: Forced}}
	}
	p.planned[i] = selected && len(r.Reasons) > 0
}

// warnOfForeign turns what was noted into the error or the warnings, in the order of the
// stages.
func (p *planner) warnOfForeign() error {
	slices.SortFunc(p.foreign, func(a, b foreign) int {
		return cmp.Or(a.stage-b.stage, a.from-b.from, a.how-b.how, a.unit-b.unit)
	})
	for _, units := range group.By(slices.Compact(p.foreign), func(f foreign) foreign { return foreign{f.stage, f.from, f.how, 0} }) {
		f := units[0]
		stage, upstream, n, first := p.graph.stages[f.stage].Name, p.graph.stages[f.from].Name, display.Units(len(units)), p.records[f.unit]
		switch f.how {
		case lacking:
			return fmt.Errorf("%s needs outputs of %s that are not there (%s, such as %s): run `speceval run %s` first, or `speceval run --until %s`",
				stage, upstream, n, first.Unit.Unit, upstream, stage)
		case wantedOnly:
			p.warn("%s has not run (%s, such as %s): %s goes without its outputs", upstream, n, first.Unit.Unit, stage)
		case outdated:
			because := cmp.Or(Brief(first.Reasons), "something before it is stale")
			p.warn("%s is stale (%s: %s); %s uses its stored outputs", upstream, n, because, stage)
		}
	}
	return nil
}

func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// warnOfAltered warns of the stored outputs that planned units are made from, at any
// distance, and that were edited or damaged since they were made.
func (p *planner) warnOfAltered() {
	behind := slices.Clone(p.planned)
	for i := len(behind) - 1; i >= 0; i-- {
		for _, need := range p.graph.nodes[i].needs {
			behind[need] = behind[need] || behind[i]
		}
	}
	byStage := make([][]string, len(p.graph.stages))
	for i, r := range p.records {
		for _, reason := range r.Reasons {
			if at := p.graph.nodes[i].stage; behind[i] && !p.planned[i] && reason.Kind == OutputEdited {
				byStage[at] = append(byStage[at], reason.Subject)
			}
		}
	}
	for at, names := range byStage {
		if len(names) == 0 {
			continue
		}
		are := "is"
		if len(names) > 1 {
			are = "are"
		}
		p.warn("%s %s not as recorded: damaged, or edited; what is made from stored outputs has that in it. `speceval run %s` makes the outputs anew, and keeps these next to them", display.Within(names, 200), are, p.graph.stages[at].Name)
	}
}
