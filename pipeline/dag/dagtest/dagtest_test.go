package dagtest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"speceval/pipeline/dag"
)

func TestRunRunsWhatIsStaleInOrder(t *testing.T) {
	var ran []string
	unit := func(id string, needs ...dag.Ref) dag.Unit {
		return dag.Unit{ID: id, Outputs: []string{id + ".txt"}, Needs: needs, Run: func(_ context.Context, job *dag.Job) error {
			ran = append(ran, id)
			return job.Write(id+".txt", -1, func(w io.Writer) error {
				_, err := io.WriteString(w, job.Commit())
				return err
			})
		}}
	}
	stages := []dag.Stage{{Name: "s", Units: []dag.Unit{unit("second", dag.Ref{Stage: "s", Unit: "first"}), unit("first")}}}
	dir := t.TempDir()
	Run(t, stages, dir)
	Run(t, stages, dir)
	if len(ran) != 2 || ran[0] != "first" || ran[1] != "second" {
		t.Errorf("ran %v, want first and second, once", ran)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "second.txt")); err != nil || string(got) != Origin.Commit {
		t.Errorf("second.txt holds %q, %v", got, err)
	}
}
