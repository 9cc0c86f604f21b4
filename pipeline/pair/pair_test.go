package pair_test

import (
	"context"
	"io"
	"reflect"
	"strings"
	"testing"

	"speceval/internal/store/profile"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
)

func quiz(counts ...int) profile.Profile {
	p := profile.Profile{Benchmark: "quiz", Model: "m", TestedK: 8, Scorer: "s"}
	for i, n := range counts {
		p.TaskIDs, p.PassCounts = append(p.TaskIDs, string(rune('a'+i))), append(p.PassCounts, n)
	}
	return p
}

// read runs a unit that is fed the pair, after one that writes profiles into
// the file made.parquet, and returns what it reads.
func read(t *testing.T, p pair.Pair, made ...profile.Profile) (got profile.Profile, err error) {
	t.Helper()
	reader := dag.Unit{ID: "read", Outputs: []string{"read.txt"}, Run: func(_ context.Context, job *dag.Job) error {
		if got, err = p.Profile(job); err != nil {
			return err
		}
		return job.Write("read.txt", -1, func(io.Writer) error { return nil })
	}}
	pair.Feed(&reader, p)
	writer := dag.Unit{ID: "make", Outputs: []string{"made.parquet"}, Run: func(_ context.Context, job *dag.Job) error {
		return job.Write("made.parquet", 2, func(w io.Writer) error { return profile.Write(w, made, nil) })
	}}
	stages := []dag.Stage{{Name: "score", Units: []dag.Unit{writer}}, {Name: "replay", Units: []dag.Unit{reader}}}
	err = dagtest.Try(t, stages, t.TempDir(), dag.Selection{})
	return got, err
}

func TestAPairGivesItsProfile(t *testing.T) {
	p := quiz(3, 8, 0)
	made := pair.Made("quiz", "m", p.TaskIDs, dag.Ref{Stage: "score", Unit: "make"}, "made.parquet")
	for name, pair := range map[string]pair.Pair{"known": pair.Known(p), "made": made} {
		if pair.Name() != "quiz__model=m" || pair.N() != 3 {
			t.Errorf("%s: %s of %d tasks", name, pair.Name(), pair.N())
		}
		if got, err := read(t, pair, p); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestAPairKnowsItsProfile(t *testing.T) {
	made := pair.Made("quiz", "m", []string{"a", "b", "c"}, dag.Ref{Stage: "score", Unit: "make"}, "made.parquet")
	other := quiz(1, 2, 3)
	other.Model = "other"
	for name, profiles := range map[string][]profile.Profile{
		"another model":     {other},
		"another size":      {quiz(1, 2)},
		"another one there": {quiz(1, 2, 3), other},
	} {
		if _, err := read(t, made, profiles...); err == nil || !strings.Contains(err.Error(), "want quiz__model=m of 3 alone") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := read(t, made); err == nil || !strings.Contains(err.Error(), "there are no rows") {
		t.Errorf("of a file without rows: error %v", err)
	}
}

func TestAKnownProfileIsPartOfTheKey(t *testing.T) {
	var a, b dag.Unit
	pair.Feed(&a, pair.Known(quiz(1, 2)))
	pair.Feed(&b, pair.Known(quiz(1, 3)))
	if len(a.Sources) != 1 || len(a.Needs) != 0 || a.Sources[0].Name != b.Sources[0].Name || a.Sources[0].SHA256 == b.Sources[0].SHA256 {
		t.Errorf("%+v and %+v", a, b)
	}
}

// TestSiblingsShareTasks leaves out the pair itself, other benchmarks, and a model that
// has none of the tasks.
func TestSiblingsShareTasks(t *testing.T) {
	of := func(benchmark, model string, ids ...string) pair.Pair {
		return pair.Made(benchmark, model, ids, dag.Ref{}, "")
	}
	own, part := of("q", "a", "x", "y"), of("q", "b", "z", "y")
	got := pair.Siblings([]pair.Pair{own, part, of("q", "c", "z"), of("r", "d", "x")}, own)
	if len(got) != 1 || got[0].Model != part.Model {
		t.Errorf("the siblings are %v", got)
	}
}
