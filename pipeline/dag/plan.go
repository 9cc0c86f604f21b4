package dag

import "fmt"

// Plan is exactly what a run will do, and why.
type Plan struct {
	Stages   []StagePlan // the selected stages, in order
	Warnings []string    // about inputs that are used though stale

	snapshot *Snapshot
}

// StagePlan is the part of a plan that concerns one stage.
type StagePlan struct {
	Stage   *Stage
	Run     []UnitPlan // in running order
	Fresh   int        // units with nothing to do
	Missing int        // units of Run that have never run; the others are stale

	known   int     // units with an earlier manifest
	seconds float64 // wall seconds of these, in sum
}

// UnitPlan is one unit that will run.
type UnitPlan struct {
	Ref     Ref
	State   State    // Missing, Stale, or Fresh when forced
	Reasons []Reason // at least one
	Seconds float64  // wall seconds when it last ran; negative if unknown
	Before  string   // key of its manifest; empty if it has none
	Key     string   // empty if it depends on inputs that are still to be made

	index  int // into Graph.nodes
	expect []Quantity
	cost   float64
}

// Units is the number of units that will run.
func (p *Plan) Units() int {
	n := 0
	for _, s := range p.Stages {
		n += len(s.Run)
	}
	return n
}

// MissingInputError says that a unit selected needs the outputs of a stage
// that is not selected and has not made them.
type MissingInputError struct {
	Stage    string // whose units cannot run
	Upstream string // the stage to run first
	Unit     string // one of the units of Upstream that are wanting
	Units    int    // how many are

	seen map[int]bool // those counted
}

func (e *MissingInputError) Error() string {
	return fmt.Sprintf("%s needs outputs of %s that are not there (%s, such as %s): run `speceval run %s` first, or `speceval run --until %s`",
		e.Stage, e.Upstream, count(e.Units), e.Unit, e.Upstream, e.Stage)
}

// Plan computes what a run of the selection does. A unit is planned if it is
// not fresh or is forced, or if a selected unit that it needs is planned.
// Inputs from stages not selected are used as they are stored: with a warning
// if they are stale, and a *MissingInputError if they are not there and needed,
// or only wanted and the selection is strict.
func (s *Snapshot) Plan(sel Selection) (*Plan, error) {
	marks, err := s.graph.selected(sel)
	if err != nil {
		return nil, err
	}
	p := &planner{snapshot: s, force: sel.Force, strict: sel.Strict, selected: marks}
	return p.plan()
}

// planner walks the units in order, once.
type planner struct {
	snapshot *Snapshot
	force    bool
	strict   bool
	selected []bool // by stage

	verdicts []verdict // by unit
	planned  []bool    // by unit: will run
	behind   []bool    // by unit: would run if every stage were selected
	missing  map[[2]int]*MissingInputError
	absent   map[[2]int]*MissingInputError // wanted inputs only
	stale    map[[2]int]*staleInputs
}

// staleInputs counts the stale units of one stage that another stage uses.
type staleInputs struct {
	units   map[int]bool
	reasons []Reason // of the first
}

func (p *planner) plan() (*Plan, error) {
	s := p.snapshot
	p.verdicts = make([]verdict, len(s.graph.nodes))
	p.planned = make([]bool, len(s.graph.nodes))
	p.behind = make([]bool, len(s.graph.nodes))
	p.missing = make(map[[2]int]*MissingInputError)
	p.absent = make(map[[2]int]*MissingInputError)
	p.stale = make(map[[2]int]*staleInputs)
	stages := make([]StagePlan, len(s.graph.stages))
	for i := range s.graph.nodes {
		n := &s.graph.nodes[i]
		v := s.judge(i)
		p.verdicts[i] = v
		p.behind[i] = len(v.reasons) > 0 || p.any(p.behind, n.needs)
		stage := &stages[n.stage]
		stage.note(s.records[i].manifest)
		if !p.selected[n.stage] {
			continue
		}
		reasons := p.reasons(i, v)
		p.foreign(i, v, len(reasons) > 0)
		if len(reasons) == 0 {
			stage.Fresh++
			continue
		}
		p.planned[i] = true
		if p.any(p.planned, n.needs) {
			v.key = ""
		}
		stage.add(s.unitPlan(i, reasons, v))
	}
	plan, err := p.result(stages)
	if err != nil {
		return nil, err
	}
	plan.Warnings = append(plan.Warnings, p.altered()...)
	return plan, nil
}

func (p *planner) any(marks []bool, units []int) bool {
	for _, i := range units {
		if marks[i] {
			return true
		}
	}
	return false
}

// reasons are those of the unit itself, and the inputs that will be remade or
// are not there.
func (p *planner) reasons(i int, v verdict) []Reason {
	g := p.snapshot.graph
	reasons, blocked := v.reasons, v.blocked
	for _, need := range g.nodes[i].needs {
		kind := InputRemade
		missing := len(blocked) > 0 && blocked[0] == need // they are among the needs, in order
		if missing {
			blocked = blocked[1:]
		}
		switch {
		case !p.planned[need] && !missing:
			continue
		case !p.planned[need]:
			kind = InputMissing
		case p.snapshot.state(i, nil) == Missing:
			continue // that it has never run says enough
		}
		for _, output := range g.nodes[need].unit.Outputs {
			reasons = append(reasons, Reason{Kind: kind, Subject: output})
		}
	}
	if len(reasons) == 0 && p.force {
		reasons = []Reason{{Kind: Forced}}
	}
	return reasons
}

// foreign notes the inputs of unit i that come from stages not selected and
// are missing, or stale.
func (p *planner) foreign(i int, v verdict, runs bool) {
	g := p.snapshot.graph
	at := g.nodes[i].stage
	for _, need := range v.blocked {
		if from := g.nodes[need].stage; runs && !p.selected[from] {
			p.note(p.missing, at, from, need)
		}
	}
	for k, need := range g.nodes[i].needs {
		from := g.nodes[need].stage
		if p.selected[from] || !p.behind[need] {
			continue
		}
		switch absent := !p.snapshot.records[need].usable(); {
		case !absent:
			p.noteStale(at, from, need)
		case k >= g.nodes[i].wanted && p.strict:
			p.note(p.missing, at, from, need)
		case k >= g.nodes[i].wanted:
			p.note(p.absent, at, from, need)
		}
	}
}

// note counts an input that is not there.
func (p *planner) note(inputs map[[2]int]*MissingInputError, at, from, need int) {
	g := p.snapshot.graph
	e := inputs[[2]int{at, from}]
	if e == nil {
		e = &MissingInputError{Stage: g.stages[at].Name, Upstream: g.stages[from].Name, Unit: g.nodes[need].unit.ID, seen: map[int]bool{}}
		inputs[[2]int{at, from}] = e
	}
	if !e.seen[need] {
		e.seen[need] = true
		e.Units++
	}
}

func (p *planner) noteStale(at, from, need int) {
	e := p.stale[[2]int{at, from}]
	if e == nil {
		e = &staleInputs{units: make(map[int]bool), reasons: p.verdicts[need].reasons}
		p.stale[[2]int{at, from}] = e
	}
	e.units[need] = true
}

// result keeps the selected stages, and turns what was noted into the error
// or the warnings, in the order of the stages.
func (p *planner) result(stages []StagePlan) (*Plan, error) {
	g := p.snapshot.graph
	plan := &Plan{snapshot: p.snapshot}
	for at := range g.stages {
		for from := range at {
			if e := p.missing[[2]int{at, from}]; e != nil {
				return nil, e
			}
			if e := p.absent[[2]int{at, from}]; e != nil {
				plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s has not run (%s, such as %s): %s goes without its outputs",
					e.Upstream, count(e.Units), e.Unit, e.Stage))
			}
			if e := p.stale[[2]int{at, from}]; e != nil {
				plan.Warnings = append(plan.Warnings, e.warning(g.stages[at].Name, g.stages[from].Name))
			}
		}
		if p.selected[at] {
			stages[at].Stage = &g.stages[at]
			plan.Stages = append(plan.Stages, stages[at])
		}
	}
	return plan, nil
}

func (e *staleInputs) warning(stage, upstream string) string {
	because := "something before it is stale"
	if len(e.reasons) > 0 {
		because = Brief(e.reasons)
	}
	return fmt.Sprintf("%s is stale (%s: %s); %s uses its stored outputs", upstream, count(len(e.units)), because, stage)
}

// count is a number of units in words.
func count(units int) string {
	if units == 1 {
		return "1 unit"
	}
	return fmt.Sprintf("%d units", units)
}
