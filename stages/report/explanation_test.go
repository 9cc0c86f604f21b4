package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"speceval/pipeline/dag"
)

// TestUnitsAlikeShareALine prints an explanation of which every section is there.
func TestUnitsAlikeShareALine(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := &Explanation{Table: "t", Row: "b=8", Column: "hbn", Stored: "0.5", Warnings: []string{"stale"},
		Formula: "A mean."}
	e.Profile = "p__model=m"
	var records []dag.Record
	var needs []dag.Ref
	for _, unit := range []string{"design/n=1", "design/n=2", "profile/p__model=m", "profile/q__model=m", "ratios"} {
		ref := dag.Ref{Stage: "replay", Unit: unit}
		m := &dag.Manifest{Key: "0123456789abcdef", Start: start, CPUSeconds: 1, Origin: dag.Origin{Commit: "fedcba9876543210", Dirty: unit == "design/n=2"}}
		records = append(records, dag.Record{Unit: ref, Last: m, State: dag.Fresh, Declared: &dag.Unit{Needs: needs}})
		needs = append(needs, ref)
	}
	e.Origin = originOf(records, records[4].Unit)
	e.Files = []File{{File: dag.File{Path: "f", Rows: -1, SHA256: "s"}, By: "replay/ratios"}}
	e.Sources = []dag.Source{{Name: "data", SHA256: "s"}, {Name: "profile p__model=m", SHA256: "s"}, {Name: "profile q", SHA256: "s"}, {Name: "profile r", SHA256: "s"}}
	var short, all bytes.Buffer
	if err := errors.Join(e.Text(&short, false), e.Text(&all, true)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"t, row \"b=8\", column hbn: 0.5\n\n! stale\n\n  A mean.\n\nStored files",
		"f        —  s        replay/ratios\n",
		"replay/design/…                2  fresh  0123456789ab  2 commits     —       2.00\n",
		"replay/profile/p__model=m      1  fresh  0123456789ab  fedcba987654",
		"profile p__model=m  s\n",
		"… and 2 of the kind \"profile\", each with its own hash (--all)\n",
	} {
		if !strings.Contains(short.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, short.String())
		}
	}
	if strings.Contains(all.String(), "…") || !strings.Contains(all.String(), "replay/design/n=2") {
		t.Errorf("not all:\n%s", all.String())
	}
}
