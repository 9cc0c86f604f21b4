package dag

import (
	"context"
	"encoding/json"
	"fmt"
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
	before := process.Process().CPUSeconds
	for b.Loop() {
		l.look(b, open, want)
	}
	b.ReportMetric((process.Process().CPUSeconds-before)/float64(b.N), "cpu-s/op")
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
