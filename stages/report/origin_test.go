package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/pipeline/dag"
)

// unit is a record of a stage of the replay that has run at an hour.
func unit(id string, hour int, needs ...string) dag.Record {
	start := time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)
	r := dag.Record{Unit: dag.Ref{Stage: "replay", Unit: id}, State: dag.Fresh, Declared: &dag.Unit{Outputs: []string{id + ".csv"}}}
	r.Last = &dag.Manifest{Key: "key of " + id, Start: start, WallSeconds: 2, CPUSeconds: 1, Seeds: []string{"7/" + id}, Origin: dag.Origin{Commit: "0123456789abcdef", Host: "n1"},
		Parts: dag.Parts{Sources: map[string]string{"data": "s"}}, Inputs: []dag.File{{Path: "a/n=1.csv", Rows: -1}}, Outputs: []dag.File{{Path: id + ".csv", Rows: 3}}}
	for _, need := range needs {
		r.Declared.Needs = append(r.Declared.Needs, dag.Ref{Stage: "replay", Unit: need})
	}
	return r
}

func names(units []dag.Record) (all []string) {
	for _, r := range units {
		all = append(all, r.Unit.Unit)
	}
	return all
}

func TestChainsHaveWhatAUnitIsMadeOf(t *testing.T) {
	records := []dag.Record{unit("a/n=1", 1), unit("a/n=2", 2), unit("stray", 3), unit("b", 4, "a/n=2", "a/n=1"), unit("c", 5, "a/n=1", "b", "gone")}
	o := originOf(records, records[4].Unit)
	if got := names(o.Units); !slices.Equal(got, []string{"a/n=1", "a/n=2", "b", "c"}) {
		t.Errorf("units %q", got)
	}
	if o.Units[3].Last.Key != "key of c" || len(o.Sources) != 1 || o.Files[0].By != "replay/a/n=1" || o.Files[1].By != "replay/c" {
		t.Errorf("origin %+v", o)
	}
	if none := originOf(records, dag.Ref{Stage: "x"}); len(none.Units) > 0 || len(none.stale()) != 1 || !strings.HasPrefix(none.stale()[0], "no unit of this experiment makes this table") {
		t.Errorf("of no unit: %+v", none)
	}
}

func TestWarningsNameTheCauses(t *testing.T) {
	table := dag.Ref{Stage: "report", Unit: "table"}
	made := &dag.Manifest{}
	top := dag.Record{Unit: table, Last: made, State: dag.Stale, Declared: &dag.Unit{}}
	var records []dag.Record
	for _, of := range []struct {
		unit string
		kind dag.Kind
		last *dag.Manifest
	}{{"draws=1", dag.Config, made}, {"draws=2", dag.Config, made}, {"version", dag.Version, made}, {"input", dag.InputChanged, made}, {"never", dag.NeverRun, nil}} {
		ref := dag.Ref{Stage: "replay", Unit: of.unit}
		records = append(records, dag.Record{Unit: ref, Last: of.last, Declared: &dag.Unit{}, Reasons: []dag.Reason{{Kind: of.kind, Subject: "x", Old: "1", New: "2"}}})
		top.Declared.Needs = append(top.Declared.Needs, ref)
	}
	wanted := dag.Ref{Stage: "replay", Unit: "wanted"}
	top.Declared.Wants = []dag.Ref{wanted}
	records = append(records, dag.Record{Unit: wanted, Declared: &dag.Unit{}, Reasons: []dag.Reason{{Kind: dag.NeverRun}}}, top)
	got := originOf(records, table).stale()
	want := []string{
		"replay/never is without a manifest: never run",
		"replay/input is stale: ",
		"replay/version is stale: code version 1 → 2",
		"2 units, such as replay/draws=1, are stale: x 1 → 2",
	}
	if len(got) != len(want) {
		t.Fatalf("warnings %q", got)
	}
	for i, w := range want {
		if !strings.HasPrefix(got[i], w) {
			t.Errorf("warning %q, want %q", got[i], w)
		}
	}
}
