package dag

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
)

// BenchmarkPlan plans a finished folder of 10,000 units in two stages, the
// second of which needs all of the first in groups of a hundred.
func BenchmarkPlan(b *testing.B) {
	const units = 9900
	t := new(testing.T)
	l := &lab{t: t, dir: b.TempDir()}
	config := map[string]string{"replay.draws": "8192", "replay.replicates": "8", "experiment.seed": "20260101"}
	for i := range units {
		l.add("replay", fmt.Sprintf("group=%d/unit=%d", i%100, i), config)
	}
	for group := range 100 {
		var needs []string
		for i := group; i < units; i += 100 {
			needs = append(needs, fmt.Sprintf("replay/group=%d/unit=%d", group, i))
		}
		l.add("report", fmt.Sprint(group), config, needs...)
	}
	pretend(l)
	for b.Loop() {
		g, err := New(l.stages)
		if err != nil {
			b.Fatal(err)
		}
		s, err := g.Scan(context.Background(), l.dir)
		if err != nil {
			b.Fatal(err)
		}
		p, err := s.Plan(Selection{})
		if err != nil || p.Units() > 0 {
			b.Fatalf("%d units to run, %v", p.Units(), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(units+100), "µs/unit")
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
