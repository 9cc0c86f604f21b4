package dag

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"speceval/internal/process"
)

// BenchmarkPlan looks at 100,000 units in two stages, the second of which needs
// all of the first in groups of a thousand, and plans them: all fresh, read from
// disk or known from the index; all stale; and all missing.
func BenchmarkPlan(b *testing.B) {
	const units, groups = 100_000, 100
	l := wide(b, units, groups)
	pretend(l)
	read := func(*Graph) *index { return nil }
	known := func(g *Graph) *index { return openIndex(g, l.dir, 0) }
	b.Run("read", func(b *testing.B) { l.benchmarkPlan(b, read, 0) })
	l.look(b, known, 0)
	b.Run("fresh", func(b *testing.B) { l.benchmarkPlan(b, known, 0) })
	for s := range l.stages {
		l.stages[s].Version++
	}
	b.Run("stale", func(b *testing.B) { l.benchmarkPlan(b, known, units) })
	l.dir = b.TempDir()
	b.Run("missing", func(b *testing.B) { l.benchmarkPlan(b, known, units) })
}

// wide is a lab of so many units: a stage in groups, and a stage with a unit for
// each group.
func wide(b *testing.B, units, groups int) *lab {
	l := &lab{t: new(testing.T), dir: b.TempDir()}
	config := map[string]string{"replay.draws": "8192", "replay.replicates": "8", "experiment.seed": "20260101"}
	needs := make([][]string, groups)
	for i := range units - groups {
		group := i % groups
		l.add("replay", fmt.Sprintf("group=%d/unit=%d", group, i), config)
		needs[group] = append(needs[group], fmt.Sprintf("replay/group=%d/unit=%d", group, i))
	}
	for group := range groups {
		l.add("report", fmt.Sprint(group), config, needs[group]...)
	}
	return l
}

func (l *lab) benchmarkPlan(b *testing.B, open func(*Graph) *index, want int) {
	units := 0
	for _, stage := range l.stages {
		units += len(stage.Units)
	}
	before := process.Used().CPUSeconds
	for b.Loop() {
		l.look(b, open, want)
	}
	b.ReportMetric((process.Used().CPUSeconds-before)/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(units), "µs/unit")
}

// look plans everything, of which so many units should have to run.
func (l *lab) look(b *testing.B, open func(*Graph) *index, want int) {
	g, err := New(l.stages)
	if err != nil {
		b.Fatal(err)
	}
	s, err := g.scan(context.Background(), l.dir, open(g))
	if err != nil {
		b.Fatal(err)
	}
	p, err := s.Plan(Selection{})
	if err != nil || p.Units() != want {
		b.Fatalf("%d units to run, %v", p.Units(), err)
	}
}

// pretend writes what a run of the lab would have left, without syncing.
func pretend(l *lab) {
	g, err := New(l.stages)
	if err != nil {
		panic(err)
	}
	s := &Snapshot{graph: g, dir: l.dir, records: make([]record, len(g.nodes))}
	for i := range g.nodes {
		unit := g.nodes[i].unit
		l.put(unit.Outputs[0], unit.ID)
		sum, err := hashFile(l.file(unit.Outputs[0]), make([]byte, hashBuffer))
		if err != nil {
			panic(err)
		}
		parts, _ := s.partsOf(i)
		m := &Manifest{
			Format: manifestFormat, Key: parts.Key(), Parts: parts, Provenance: unit.Provenance,
			Outputs: []File{{Path: unit.Outputs[0], SHA256: sum, Rows: -1}},
		}
		s.records[i] = record{manifest: m, have: []string{sum}}
		data, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		l.put(manifestPath(g.ref(i)), string(data))
	}
}

// wanting is an experiment in which report/all needs replay/x and wants
// systems/runs, whose text it adds to its own if it is there.
func wanting(t *testing.T) *lab {
	l := newLab(t)
	l.add("replay", "x", nil)
	l.add("systems", "runs", nil)
	l.add("report", "all", nil, "replay/x")
	l.unit("report/all").Wants = []Ref{{"systems", "runs"}}
	return l
}

func TestAWantedInputMayBeAbsent(t *testing.T) {
	l := wanting(t)
	l.run(Selection{Stages: []string{"replay"}})
	var got error
	l.hook = func(_ context.Context, unit string, job *Job) error {
		if unit == "report/all" {
			_, got = job.Input("systems/runs.txt")
		}
		return nil
	}
	plan := l.plan(Selection{Stages: []string{"report"}})
	if want := "systems has not run (1 unit, such as runs): report goes without its outputs"; len(plan.Warnings) != 1 || plan.Warnings[0] != want {
		t.Errorf("warnings %q, want %q", plan.Warnings, want)
	}
	wantUnits(t, "without it", l.run(Selection{Stages: []string{"report"}}), "report/all")
	var absent *AbsentError
	if !errors.As(got, &absent) || *absent != (AbsentError{"systems/runs.txt", "systems"}) {
		t.Errorf("Input of what is not there: %v, want an AbsentError", got)
	}
	wantUnits(t, "again", l.run(Selection{Stages: []string{"report"}}))

	reasons := planned(l.plan(Selection{}))["report/all"]
	if !strings.Contains(reasons, "input systems/runs.txt will be remade") {
		t.Errorf("once it can be made, report/all runs because %q", reasons)
	}
	wantUnits(t, "all", l.run(Selection{}), "systems/runs", "report/all")
	if got != nil {
		t.Errorf("Input of what is there: %v", got)
	}
	wantUnits(t, "all again", l.run(Selection{}))

	l.remove("systems/runs.txt")
	if reasons := planned(l.plan(Selection{Stages: []string{"report"}}))["report/all"]; !strings.Contains(reasons, "input systems/runs.txt no longer read") {
		t.Errorf("once it is gone, report/all runs because %q", reasons)
	}
}

func TestWhatTwoUnitsWantIsCountedOnce(t *testing.T) {
	l := wanting(t)
	l.add("report", "more", nil)
	l.unit("report/more").Wants = []Ref{{"systems", "runs"}}
	l.run(Selection{Stages: []string{"replay"}})
	if got := l.plan(Selection{Stages: []string{"report"}}).Warnings; len(got) != 1 || !strings.Contains(got[0], "(1 unit, such as runs)") {
		t.Errorf("warnings %q", got)
	}
}

func TestAStrictSelectionNeedsWhatIsWanted(t *testing.T) {
	l := wanting(t)
	l.run(Selection{Stages: []string{"replay"}})
	_, err := l.scan().Plan(Selection{Stages: []string{"report"}, Strict: true})
	var missing *MissingInputError
	if !errors.As(err, &missing) || missing.Upstream != "systems" || missing.Units != 1 {
		t.Errorf("a strict plan without systems: %v, want a MissingInputError", err)
	}
	if _, err := l.scan().Plan(Selection{Strict: true}); err != nil {
		t.Errorf("a strict plan of everything: %v", err)
	}
}
