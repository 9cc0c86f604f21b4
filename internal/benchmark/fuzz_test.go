package benchmark_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"speceval/internal/benchmark"
)

func sha256hex(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// FuzzParseTasks reads anything, and writes what could be read: it must come
// back as it was, and be written as the same bytes again.
func FuzzParseTasks(f *testing.F) {
	f.Add([]byte(wide))
	f.Add([]byte(ownLines))
	f.Add([]byte(`{"task_id":"x","prompt":"\u2028\ud83d\ude42\b<","answer":"2","scorer":"math"}`))
	f.Add([]byte("{\"task_id\":\"x\"]\n[{\n{\"tests\":[{},{\"kind\":1}],\"options\":1e2}"))
	r := reader(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		tasks, err := r.Parse(text, "b.jsonl")
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

// FuzzReadTests reads anything as a file of tests, compressed or not. What could be
// read comes back from a file that is written of it.
func FuzzReadTests(f *testing.F) {
	file, _ := zipped(f, echo...)
	f.Add([]byte(file))
	f.Add([]byte(file + "x"))
	for _, seed := range []string{"", "[]", `[{"kind":"stdin","input":"","output":"\ud83d\ude42"} ]`, `[{"kind":"function","function":"f","input":"1\n[]","output":"{}"},`, `[{"kind":1}`} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, name := range []string{"t.json", "t.json.gz"} {
			save(t, filepath.Join(dir, name), string(content))
			tests, err := benchmark.ReadTests(filepath.Join(dir, "b.jsonl"), benchmark.Task{TestsFile: name})
			if err != nil {
				continue
			}
			var plain bytes.Buffer
			if err := benchmark.WriteTests(&plain, tests); err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			}
			again, digest := zipped(t, tests...)
			if digest != sha256hex(plain.String()) {
				t.Fatalf("digest %s, want that of %q", digest, plain.String())
			}
			for name, content := range map[string]string{"u.json": plain.String(), "u.json.gz": again} {
				save(t, filepath.Join(dir, name), content)
				got, err := benchmark.ReadTests(filepath.Join(dir, "b.jsonl"), benchmark.Task{TestsFile: name, TestsSHA256: digest})
				if err != nil || !reflect.DeepEqual(got, tests) {
					t.Fatalf("read back as %+v, %v\nwas %+v", got, err, tests)
				}
			}
		}
	})
}
