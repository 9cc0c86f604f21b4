package rollout_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/rollout"
	"speceval/internal/rowfile"
)

func some(task, k int) *rollout.Rollout {
	r := &rollout.Rollout{
		Benchmark: "b", Model: "m", TaskIndex: int32(task), TaskID: fmt.Sprint("t", task), Rollout: int32(k),
		Seed: int64(task*1000 + k), PromptTokens: 12, CompletionTokens: 34, FinishReason: "stop",
		Text: "line\nbreak “quoted” <&> \u2028 \x00 \\boxed{1}", Reasoning: "because", LatencySeconds: 0.25, Server: "http://a:1",
	}
	if k%2 == 0 {
		n := int32(7)
		r.ReasoningTokens = &n
	}
	return r
}

func open(t testing.TB, path string) (*rollout.Journal, int) {
	t.Helper()
	j, damaged, err := rollout.OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, damaged
}

func appendAll(t testing.TB, j *rollout.Journal, all ...*rollout.Rollout) {
	t.Helper()
	for _, r := range all {
		if err := j.Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAJournalGivesBackWhatItTook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+rollout.JournalSuffix)
	j, _ := open(t, path)
	long := some(1, 1)
	long.Text = strings.Repeat("x", 200_000) // longer than the reader's buffer
	appendAll(t, j, some(0, 0), long, some(0, 3))
	for _, j := range []*rollout.Journal{j, first(open(t, path))} {
		if j.Len() != 3 || !j.Has(rollout.ID{Task: 0, Rollout: 3}) || j.Has(rollout.ID{Task: 3, Rollout: 0}) {
			t.Errorf("%d rollouts", j.Len())
		}
		for _, want := range []*rollout.Rollout{some(0, 0), long, some(0, 3)} {
			if got, err := j.Read(want.ID()); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("read %+v, %v", got, err)
			}
		}
	}
	if _, err := j.Read(rollout.ID{Task: 9}); err == nil || !strings.Contains(err.Error(), "rollout 0 of task 9 is not in the journal") {
		t.Errorf("error %v", err)
	}
}

func first(j *rollout.Journal, _ int) *rollout.Journal { return j }

func TestAJournalCutAnywhereKeepsItsWholeLines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.journal")
	j, _ := open(t, path)
	appendAll(t, j, some(0, 0), some(0, 1))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		cut := filepath.Join(dir, "cut.journal")
		if err := os.WriteFile(cut, data[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		j, damaged := open(t, cut)
		if want := bytes.Count(data[:n], []byte("\n")); j.Len() != want || damaged != 0 {
			t.Fatalf("of %d bytes: %d rollouts and %d damaged lines, want %d and 0", n, j.Len(), damaged, want)
		}
		appendAll(t, j, some(5, 5))
		if again, damaged := open(t, cut); again.Len() != j.Len() || damaged != 0 {
			t.Fatalf("of %d bytes: after another append %d rollouts, %d damaged lines", n, again.Len(), damaged)
		}
		j.Close()
	}
}

func TestALongUnfinishedLineLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal")
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 100_000), 0o666); err != nil {
		t.Fatal(err)
	}
	j, _ := open(t, path)
	appendAll(t, j, some(0, 0))
	if again, damaged := open(t, path); again.Len() != 1 || damaged != 0 {
		t.Errorf("%d rollouts, %d damaged lines", again.Len(), damaged)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 1000 {
		t.Errorf("the journal has %d bytes, %v", info.Size(), err)
	}
}

func TestADamagedLineCostsOneRollout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal")
	j, _ := open(t, path)
	appendAll(t, j, some(0, 0), some(0, 1), some(0, 2))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte(`"rollout":1`))
	for _, b := range []int{at, at + 10, bytes.IndexByte(data, '\n') + 2} {
		bad := slices.Clone(data)
		bad[b] ^= 1
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		j, damaged := open(t, path)
		if j.Len() != 2 || damaged != 1 || j.Has(rollout.ID{Rollout: 1}) {
			t.Errorf("byte %d: %d rollouts, %d damaged lines", b, j.Len(), damaged)
		}
	}
}

func TestAJournalThatCannotBeWrittenSaysSo(t *testing.T) {
	j, _ := open(t, filepath.Join(t.TempDir(), "a.journal"))
	j.Close()
	for range 2 {
		if err := j.Append(some(0, 0)); err == nil || !strings.Contains(err.Error(), "store rollout 0 of task 0") {
			t.Errorf("error %v", err)
		}
	}
	if _, _, err := rollout.OpenJournal(t.TempDir()); err == nil {
		t.Error("a folder is a journal")
	}
}

func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal")
	j, _ := open(t, path)
	if err := j.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

func FuzzJournal(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.journal")
	j, _ := open(f, path)
	appendAll(f, j, some(0, 0), some(2, 1))
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("00000000 {}\n"))
	f.Add([]byte("zz\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.journal")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		j, damaged := open(t, path)
		if n := bytes.Count(data, []byte("\n")); j.Len()+damaged > n {
			t.Errorf("%d rollouts and %d damaged lines of %d", j.Len(), damaged, n)
		}
		before := j.Len()
		had := j.Has(some(7, 7).ID())
		appendAll(t, j, some(7, 7))
		again, _ := open(t, path)
		if got, err := again.Read(some(7, 7).ID()); err != nil || !reflect.DeepEqual(got, some(7, 7)) || again.Len() != j.Len() || (again.Len() == before) != had {
			t.Errorf("after an append: %d rollouts, had %d; %+v, %v", again.Len(), before, got, err)
		}
	})
}

func sequence(all []*rollout.Rollout, end error) iter.Seq2[*rollout.Rollout, error] {
	return func(yield func(*rollout.Rollout, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
		if end != nil {
			yield(nil, end)
		}
	}
}

func TestAPartHasItsRowsInOrder(t *testing.T) {
	var all []*rollout.Rollout
	for k := range 90 {
		r := some(k/30, k%30)
		r.Text = strings.Repeat(fmt.Sprintf("%d ", k), 300_000) // so that several row groups are needed
		all = append(all, r)
	}
	path := filepath.Join(t.TempDir(), "part-0000.parquet")
	var b bytes.Buffer
	footer := map[string]string{"speceval.schema": rollout.Schema, "speceval.key": "k"}
	if err := rollout.WritePart(&b, sequence(all, nil), footer); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	got, keys, err := rowfile.ReadFile[rollout.Rollout](path)
	if err != nil || len(got) != 90 || !reflect.DeepEqual(keys, footer) {
		t.Fatalf("%d rows, %v, %v", len(got), keys, err)
	}
	for i := range got {
		if !reflect.DeepEqual(&got[i], all[i]) {
			t.Fatalf("row %d: %+v", i, got[i].ID())
		}
	}
	if footer, err := rollout.CheckPart(path, "k", 90); err != nil || footer["speceval.schema"] != rollout.Schema {
		t.Errorf("footer %v, %v", footer, err)
	}
	if _, err := rollout.CheckPart(path, "k", 91); err == nil || !strings.Contains(err.Error(), "has 90 rows, want 91") {
		t.Errorf("error %v", err)
	}
	if _, err := rollout.CheckPart(path, "other", 90); err == nil {
		t.Error("another key is accepted")
	}
}

func TestAPartEndsAtTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	if err := rollout.WritePart(new(bytes.Buffer), sequence([]*rollout.Rollout{some(0, 0)}, broken), nil); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestStoredListsPartsAndJournals(t *testing.T) {
	dir := t.TempDir()
	if got, err := rollout.Stored(filepath.Join(dir, "absent")); len(got) != 0 || err != nil {
		t.Errorf("nothing there: %v, %v", got, err)
	}
	deep := filepath.Join(dir, "generate", "benchmark=b", "model=m")
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := rollout.WritePart(&b, sequence([]*rollout.Rollout{some(0, 0), some(0, 1)}, nil), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "part-0000.parquet"), b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	j, _ := open(t, filepath.Join(dir, "scratch.journal"))
	appendAll(t, j, some(4, 2))
	if err := os.WriteFile(filepath.Join(dir, "half.journal"), []byte("0123"), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := rollout.Stored(dir)
	want := []rollout.Place{{"b", "m", 0, 0, 0}, {"b", "m", 0, 1, 1}, {"b", "m", 4, 2, 4002}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}
