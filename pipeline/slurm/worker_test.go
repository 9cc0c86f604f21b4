package slurm

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"speceval/pipeline/dag"
)

// TestAnElementThatCannotBegin fails its units for good, unless it was interrupted.
func TestAnElementThatCannotBegin(t *testing.T) {
	_, build, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, interrupted := range []bool{false, true} {
		folder := t.TempDir()
		b := &Batch{Format: batchFormat, Job: "7", Name: "b", Stage: "s", Build: build, Elements: [][]Member{{{"u0", "key"}}}}
		if err := b.write(folder); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		fault := errors.New("no profiles")
		w := Worker{
			Variable: func(string) string { return "0" }, Now: time.Now,
			Open: func(string, string) (*dag.Graph, string, error) {
				if interrupted {
					cancel()
				}
				return nil, "", fault
			},
		}
		if err := w.Run(ctx, folder+"/b"); !errors.Is(err, fault) {
			t.Errorf("ended with %v", err)
		}
		cancel()
		events, err := os.ReadFile(EventsPath(folder+"/b", 0))
		if failed := strings.Contains(string(events), `"u0"`); err != nil || failed == interrupted {
			t.Errorf("interrupted: %v, and its events are %s (%v)", interrupted, events, err)
		}
	}
}
