package dag

import (
	"fmt"
	"slices"
	"strings"
)

// unitPlan describes unit i, which will run.
func (s *Snapshot) unitPlan(i int, reasons []Reason, v verdict) UnitPlan {
	u := UnitPlan{Ref: s.graph.ref(i), State: s.state(i, v.reasons), Reasons: reasons, Seconds: -1, Key: v.key, index: i,
		expect: s.graph.nodes[i].unit.Expect, cost: s.graph.nodes[i].unit.Cost}
	if u.State == Fresh && reasons[0].Kind != Forced {
		u.State = Stale // by what it needs
	}
	if m := s.records[i].manifest; m != nil {
		u.Seconds, u.Before = m.WallSeconds, m.Key
	}
	return u
}

// seconds are what unit i took when it last ran, or what a first run is said to
// take; 0 if neither is known.
func (s *Snapshot) seconds(i int) float64 {
	if m := s.records[i].manifest; m != nil {
		return m.WallSeconds
	}
	return s.graph.nodes[i].unit.Cost
}

// note counts what the earlier manifest of a unit says about its time.
func (p *StagePlan) note(m *Manifest) {
	if m != nil {
		p.known++
		p.seconds += m.WallSeconds
	}
}

func (p *StagePlan) add(u UnitPlan) {
	if u.State == Missing {
		p.Missing++
	}
	p.Run = append(p.Run, u)
}

// Estimate is how long units will take, from how long they took before.
type Estimate struct {
	Seconds float64 // wall time with the given number of workers
	Earlier int     // units that have run, or others of their stage have
	Stated  int     // units that have never run, and count as their stage says
	Unknown int     // units that nothing is known about and Seconds leaves out
}

// Estimate sums the earlier times of the units to run and divides by the
// workers that can be busy at once. A unit without one counts as its cost, or
// if it has none as the mean of its stage.
func (p *StagePlan) Estimate(workers int) Estimate {
	var e Estimate
	sum := 0.0
	for _, u := range p.Run {
		switch {
		case u.Seconds >= 0:
			sum += u.Seconds
			e.Earlier++
		case u.cost > 0:
			sum += u.cost
			e.Stated++
		case p.known > 0:
			sum += p.seconds / float64(p.known)
			e.Earlier++
		default:
			e.Unknown++
		}
	}
	e.Seconds = sum / float64(max(1, min(workers, len(p.Run))))
	return e
}

// Estimate sums the estimates of the stages.
func (p *Plan) Estimate(workers int) Estimate {
	var total Estimate
	for i := range p.Stages {
		e := p.Stages[i].Estimate(workers)
		total.Seconds += e.Seconds
		total.Earlier += e.Earlier
		total.Stated += e.Stated
		total.Unknown += e.Unknown
	}
	return total
}

// Expect sums what the units to run take, in the order in which they name it.
func (p *StagePlan) Expect() []Quantity {
	var sums []Quantity
	for _, u := range p.Run {
		for _, q := range u.expect {
			at := slices.IndexFunc(sums, func(s Quantity) bool { return s.Name == q.Name })
			if at < 0 {
				at, sums = len(sums), append(sums, Quantity{Name: q.Name})
			}
			sums[at].Amount += q.Amount
		}
	}
	return sums
}

// Selection says which stages may run. The zero value selects all of them.
type Selection struct {
	Stages []string // by name; empty = all, or the range below
	From   string   // this stage and all later ones
	Until  string   // this stage and all earlier ones
	Force  bool     // run every unit selected, though fresh
	Strict bool     // inputs that units only want must be there
}

// UnknownStageError says that there is no stage of a name.
type UnknownStageError struct {
	Name  string
	Known []string
}

func (e *UnknownStageError) Error() string {
	return fmt.Sprintf("there is no stage %q: stages are %s", e.Name, strings.Join(e.Known, ", "))
}

// Check finds what is wrong with a selection: an *UnknownStageError, names
// together with a range, or a range that ends before it begins.
func (g *Graph) Check(sel Selection) error {
	_, err := g.selected(sel)
	return err
}

// selected marks the selected stages.
func (g *Graph) selected(sel Selection) ([]bool, error) {
	if len(sel.Stages) > 0 && (sel.From != "" || sel.Until != "") {
		return nil, fmt.Errorf("name stages, or give a range with --from and --until, not both")
	}
	place := func(name string) (int, error) {
		i, known := g.member[name]
		if !known {
			return 0, &UnknownStageError{Name: name, Known: g.StageNames()}
		}
		return i, nil
	}
	marks := make([]bool, len(g.stages))
	for _, name := range sel.Stages {
		i, err := place(name)
		if err != nil {
			return nil, err
		}
		marks[i] = true
	}
	if len(sel.Stages) > 0 {
		return marks, nil
	}
	first, last := 0, len(g.stages)-1
	var err error
	if sel.From != "" {
		if first, err = place(sel.From); err != nil {
			return nil, err
		}
	}
	if sel.Until != "" {
		if last, err = place(sel.Until); err != nil {
			return nil, err
		}
	}
	if sel.From != "" && sel.Until != "" && first > last {
		return nil, fmt.Errorf("--until %s comes before --from %s: stages are %s", sel.Until, sel.From, strings.Join(g.StageNames(), ", "))
	}
	for i := range marks {
		marks[i] = first <= i && i <= last
	}
	return marks, nil
}
