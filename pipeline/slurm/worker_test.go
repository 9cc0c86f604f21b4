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

// TestAnInterruptedElementFailsNoUnit has an element be interrupted before it has begun.
func TestAnInterruptedElementFailsNoUnit(t *testing.T) {
	_, build, err := Build()
	folder := t.TempDir()
	b := &Batch{Format: batchFormat, Job: "7", Name: "b", Stage: "s", Build: build, Elements: [][]Member{{{"u0", "key"}}}}
	says(t, errors.Join(err, b.write(folder)), "")
	ctx, cancel := context.WithCancel(t.Context())
	w := Worker{
		Variable: func(string) string { return "0" }, Now: time.Now,
		Open: func(string, string) (*dag.Graph, string, error) { cancel(); return nil, "", context.Canceled },
	}
	if err := w.Run(ctx, folder+"/b"); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if events, err := os.ReadFile(EventsPath(folder+"/b", 0)); err != nil || strings.Contains(string(events), `"u0"`) {
		t.Errorf("its events are %s (%v)", events, err)
	}
}
