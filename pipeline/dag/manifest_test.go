package dag

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/machine/process"
)

func TestManifestRecordsTheRun(t *testing.T) {
	l := crossing(t)
	clock := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := l.runner()
	r.Origin = Origin{Commit: "abc", Dirty: true, GoVersion: "go1.26", Host: "lab", Command: "speceval run"}
	r.Now = func() time.Time { clock = clock.Add(time.Second); return clock }
	l.unit("score/a").Run = func(_ context.Context, j *Job) error { return j.Write("score/a.txt", 7, text("seven rows")) }
	ok(t, r.Run(t.Context(), nil, l.plan(Selection{})))

	var fields map[string]any // by the names that other programs read
	ok(t, json.Unmarshal([]byte(l.get("manifests/replay/x.json")), &fields))
	for _, want := range strings.Fields("format key parts provenance inputs outputs seeds commit dirty go_version host command start wall_seconds cpu_seconds peak_bytes") {
		if _, ok := fields[want]; !ok {
			t.Errorf("manifest has no %s", want)
		}
	}
	m := must(readManifest(l.dir, Ref{"replay", "x"}))
	input := File{Path: "score/a.txt", SHA256: "110c932d0591671b10ef6ec1cd23d187d47265645e5a7db271220b730a7e3b35", Bytes: 10, Rows: 7}
	if !slices.Equal(m.Inputs, []File{input}) || m.Parts.Inputs["score/a.txt"] != input.SHA256 {
		t.Errorf("inputs %+v, in the key %v; want %+v", m.Inputs, m.Parts.Inputs, input)
	}
	if len(m.Outputs) != 1 || m.Outputs[0].Rows != -1 || m.Outputs[0].Bytes != int64(len(l.get("replay/x.txt"))) {
		t.Errorf("outputs %+v", m.Outputs)
	}
	if m.Origin != r.Origin || m.Provenance != "computed" || !slices.Equal(m.Seeds, []string{"seed/x"}) {
		t.Errorf("origin %+v, provenance %q, seeds %q", m.Origin, m.Provenance, m.Seeds)
	}
	if m.WallSeconds != 1 || m.Start.Year() != 2026 || m.PeakBytes < 1<<20 || m.CPUSeconds < 0 {
		t.Errorf("start %v, wall %g s, CPU %g s, peak %d bytes", m.Start, m.WallSeconds, m.CPUSeconds, m.PeakBytes)
	}
}

// TestAClockThatGoesBack sets the clock back by an hour whenever it is read, in the
// middle of every unit: no time is negative, and all is fresh.
func TestAClockThatGoesBack(t *testing.T) {
	l := crossing(t)
	clock := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := l.runner()
	r.Now = func() time.Time { clock = clock.Add(-time.Hour); return clock }
	ok(t, r.Run(t.Context(), nil, l.plan(Selection{})))
	m, err := readManifest(l.dir, Ref{"replay", "x"})
	if err != nil || m.WallSeconds != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	wantUnits(t, "stale", l.run(Selection{}))
	same(t, "estimate", l.plan(Selection{Force: true}).Estimate(1), Estimate{})
}

func TestCPUTimeIsTheUnitsOwn(t *testing.T) {
	l := newLab(t)
	l.workers = 2
	l.add("s", "busy", nil)
	l.add("s", "idle", nil)
	finished := make(chan struct{})
	l.hook = hooks{"s/idle": func(context.Context, *Job) error { <-finished; return nil }, "s/busy": func(context.Context, *Job) error {
		defer close(finished)
		for start := process.ThreadSeconds(); process.ThreadSeconds()-start < 0.05; {
		}
		return nil
	}}
	if process.ThreadSeconds() == 0 {
		t.Skip("this system does not tell the CPU time of a thread")
	}
	l.run(Selection{})
	seconds := func(unit string) float64 { return must(readManifest(l.dir, Ref{"s", unit})).CPUSeconds }
	if busy, idle := seconds("busy"), seconds("idle"); busy < 0.05 || idle > busy/2 {
		t.Errorf("busy unit %g s, idle one beside it %g s", busy, idle)
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(`{"format":1}`))
	f.Add([]byte(`{"format":2,"key":7}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := parseManifest(data, "x.json", Ref{}); (m == nil) != (err != nil) {
			t.Errorf("manifest %v with error %v", m, err)
		}
	})
}

// records are those of the lab, by unit.
func (l *lab) records() map[string]Record {
	l.t.Helper()
	byUnit := map[string]Record{}
	for _, r := range l.scan().Records() {
		for _, need := range r.Declared.Needs {
			if _, before := byUnit[need.String()]; !before {
				l.t.Errorf("%s comes before %s, which it needs", r.Unit, need)
			}
		}
		byUnit[r.Unit.String()] = r
	}
	return byUnit
}

// freshUnits are the units whose record is fresh.
func freshUnits(records map[string]Record) []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(records)), func(unit string) bool { return records[unit].State != Fresh })
}

// TestStaleRecordsAreThoseThatARunWouldMake changes one unit: what follows
// from it is not fresh either, though nothing of its own has changed.
func TestStaleRecordsAreThoseThatARunWouldMake(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	l.unit("score/a").Config["score.k"] = "4"
	got := l.records()
	wantUnits(t, "a changed", freshUnits(got), "score/b", "replay/y")
	if a := got["score/a"]; len(a.Reasons) != 1 || a.Reasons[0].Kind != Config || a.Key == a.Last.Key {
		t.Errorf("score/a: %+v", a)
	}
	if x := got["replay/x"]; len(x.Own()) != 0 || x.State != Stale || x.Last == nil {
		t.Errorf("replay/x: %+v", x)
	}

	l.put("manifests/replay/y.json", "{")
	if y := l.records()["replay/y"]; y.Last != nil || y.State != Stale || len(y.Reasons) != 1 || y.Reasons[0].Kind != Unreadable {
		t.Errorf("a damaged manifest: %+v", y)
	}

	l.remove("score/b.txt")
	same(t, "the key without its input", l.records()["replay/y"].Key, "")
}

func TestKindsOfUnits(t *testing.T) {
	for unit, want := range map[Ref]string{
		{"replay", "design/ibn/n=100/replicate=3"}:  "replay/design/ibn",
		{"replay", "profile/aime24__model=m"}:       "replay/profile",
		{"generate", "aime24__model=m/replicate=1"}: "generate",
		{"replay", "ratios"}:                        "replay/ratios",
	} {
		if got, varies := unit.Kind(); got != want || varies == (got == unit.String()) {
			t.Errorf("%s is of the kind %s, want %s", unit, got, want)
		}
	}
}

func TestRecordsOfWantedUnits(t *testing.T) {
	l := newLab(t)
	l.add("replay", "x", nil)
	l.add("replay", "extra", nil)
	l.add("report", "all", nil, "replay/x")
	l.unit("report/all").Wants = []Ref{{"replay", "extra"}, {"replay", "x"}}
	l.run(Selection{Stages: []string{"replay"}})
	l.remove("manifests/replay/extra.json")
	l.run(Selection{Stages: []string{"report"}})
	wantUnits(t, "without what is wanted", freshUnits(l.records()), "replay/x", "report/all")
	l.run(Selection{Stages: []string{"replay"}})
	wantUnits(t, "once it is there", freshUnits(l.records()), "replay/x", "replay/extra")
	l.run(Selection{})
	l.unit("replay/extra").Config = map[string]string{"replay.draws": "9"}
	wantUnits(t, "once it is stale", freshUnits(l.records()), "replay/x")
}
