package dag

import (
	"slices"
	"testing"
)

// records are those of the lab, by unit.
func (l *lab) records() map[string]Record {
	l.t.Helper()
	byUnit := map[string]Record{}
	for _, r := range l.scan().Records() {
		for _, need := range r.Needs {
			if _, before := byUnit[need.String()]; !before {
				l.t.Errorf("%s comes before %s, which it needs", r.Ref, need)
			}
		}
		byUnit[r.Ref.String()] = r
	}
	return byUnit
}

// freshUnits are the units whose record is fresh.
func freshUnits(records map[string]Record) []string {
	var units []string
	for unit, r := range records {
		if r.Fresh {
			units = append(units, unit)
		}
	}
	return units
}

func TestRecordsOfARun(t *testing.T) {
	l := crossing(t)
	if got := l.records(); len(got) != 6 || len(freshUnits(got)) != 0 || got["score/a"].Manifest != nil {
		t.Errorf("before any run: %+v", got)
	}
	l.run(Selection{})
	got := l.records()
	wantUnits(t, "after a run", freshUnits(got), "score/a", "score/b", "replay/x", "replay/y", "replay/z", "report/all")
	z := got["replay/z"]
	if !slices.Equal(z.Needs, []Ref{{"replay", "x"}, {"score", "b"}}) || len(z.Wants) != 0 {
		t.Errorf("replay/z needs %v, wants %v", z.Needs, z.Wants)
	}
	if z.Manifest == nil || z.Manifest.Key != z.Key || z.Provenance != "computed" || !slices.Equal(z.Outputs, []string{"replay/z.txt"}) {
		t.Errorf("record %+v", z)
	}
}

// TestStaleRecordsAreThoseThatARunWouldMake changes one unit: what follows
// from it is not fresh either, though nothing of its own has changed.
func TestStaleRecordsAreThoseThatARunWouldMake(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	l.unit("score/a").Config["score.k"] = "4"
	got := l.records()
	wantUnits(t, "a changed", freshUnits(got), "score/b", "replay/y")
	if a := got["score/a"]; len(a.Reasons) != 1 || a.Reasons[0].Kind != Config || a.Key == a.Manifest.Key {
		t.Errorf("score/a: %+v", a)
	}
	if x := got["replay/x"]; len(x.Reasons) != 0 || x.Manifest == nil {
		t.Errorf("replay/x: %+v", x)
	}

	l.put("manifests/replay/y.json", "{")
	if y := l.records()["replay/y"]; y.Manifest != nil || y.Fresh || len(y.Reasons) != 1 || y.Reasons[0].Kind != Unreadable {
		t.Errorf("a damaged manifest: %+v", y)
	}
}

func TestStatesOfRecords(t *testing.T) {
	for want, r := range map[State]Record{Missing: {}, Stale: {Manifest: &Manifest{}}, Fresh: {Manifest: &Manifest{}, Fresh: true}} {
		if got := r.State(); got != want {
			t.Errorf("%+v is %s, want %s", r, got, want)
		}
	}
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

func TestShortRevisions(t *testing.T) {
	for want, o := range map[string]Origin{"0123456789ab": {Commit: "0123456789abcdef"}, "unknown-dirty": {Commit: "unknown", Dirty: true}} {
		if got := o.Short(); got != want {
			t.Errorf("%+v is %q, want %q", o, got, want)
		}
	}
}

func TestRecordsOfWantedUnits(t *testing.T) {
	l := newLab(t)
	l.add("replay", "x", nil)
	l.add("replay", "extra", nil)
	l.add("report", "all", nil, "replay/x")
	all := l.unit("report/all")
	all.Wants = []Ref{{"replay", "extra"}, {"replay", "x"}}
	l.run(Selection{Stages: []string{"replay"}})
	l.remove("manifests/replay/extra.json")
	l.run(Selection{Stages: []string{"report"}})
	got := l.records()
	wantUnits(t, "without what is wanted", freshUnits(got), "replay/x", "report/all")
	if r := got["report/all"]; !slices.Equal(r.Needs, []Ref{{"replay", "x"}, {"replay", "extra"}}) || !slices.Equal(r.Wants, []Ref{{"replay", "extra"}}) {
		t.Errorf("needs %v, wants %v", r.Needs, r.Wants)
	}
	l.run(Selection{Stages: []string{"replay"}})
	wantUnits(t, "once it is there", freshUnits(l.records()), "replay/x", "replay/extra")
	l.run(Selection{})
	l.unit("replay/extra").Config = map[string]string{"replay.draws": "9"}
	wantUnits(t, "once it is stale", freshUnits(l.records()), "replay/x")
}

func TestManifestsOfAFolder(t *testing.T) {
	l := crossing(t)
	if byUnit, unreadable, err := Manifests(l.dir); len(byUnit) != 0 || unreadable != 0 || err != nil {
		t.Errorf("of nothing: %d, %d, %v", len(byUnit), unreadable, err)
	}
	l.run(Selection{})
	l.put("manifests/replay/y.json", "{")
	l.put("manifests/replay/odd.json", l.get("manifests/replay/x.json")) // another unit's
	byUnit, unreadable, err := Manifests(l.dir)
	if err != nil || len(byUnit) != 5 || unreadable != 2 || byUnit[Ref{"replay", "x"}] == nil {
		t.Errorf("%d manifests, %d unreadable, %v", len(byUnit), unreadable, err)
	}
}
