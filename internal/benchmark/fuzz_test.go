package benchmark_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"reflect"
	"testing"

	"speceval/internal/benchmark"
)

func sha256hex(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// FuzzParseTasks reads anything, and writes what could be read: it must come
// back as it was, and be written as the same bytes again.
func FuzzParseTasks(f *testing.F) {
	f.Add([]byte(wide))
	f.Add([]byte(`{"task_id":"x","prompt":"\u2028\ud83d\ude42\b<","answer":"2","scorer":"math"}`))
	f.Add([]byte("{\"task_id\":\"x\"]\n[{\n{\"tests\":[{},{\"kind\":1}],\"options\":1e2}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tasks, err := benchmark.ParseTasks(text, "b.jsonl")
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := benchmark.WriteTasks(&first, tasks); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := benchmark.ParseTasks(first.Bytes(), "other.jsonl")
		if err != nil || !reflect.DeepEqual(again, tasks) {
			t.Fatalf("read back as %+v, %v\nwas %+v", again, err, tasks)
		}
		if err := benchmark.WriteTasks(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("written as %q, then as %q", first.Bytes(), second.Bytes())
		}
	})
}
