package page

import (
	"strings"
	"testing"

	"speceval/pipeline/dag"
)

func TestStagesStandAsTheirUnits(t *testing.T) {
	unit := func(stage string, state dag.State) dag.Record {
		return dag.Record{Unit: dag.Ref{Stage: stage, Unit: "x"}, State: state}
	}
	records := []dag.Record{unit("replay", dag.Fresh), unit("replay", dag.Stale), unit("replay", dag.Missing), unit("systems", dag.Missing)}
	if n, state, w := standing("replay", records); n != 3 || state != "1 of 3 units fresh" || !strings.HasPrefix(w, "The results of the replay stage are out of date (1 of 3 units fresh): ") {
		t.Errorf("%d units, %s: %s", n, state, w)
	}
	if _, _, w := standing("systems", records); w != "The systems stage has not run: its results are missing here." {
		t.Errorf("warning %q", w)
	}
	if n, state, w := standing("replay", records[:1]); n != 1 || state != "fresh" || w != "" {
		t.Errorf("%d units, %s, %q", n, state, w)
	}
}
