package report

import (
	"strings"
	"testing"

	"speceval/pipeline/dag"
)

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
