package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"speceval/data"
)

func TestTaskFilesThatAreBuiltIn(t *testing.T) {
	dir := t.TempDir()
	for id, name := range map[string]string{"smallbench": data.SmallBenchmarkName, "primer": data.PrimerName} {
		path := filepath.Join(dir, id+".jsonl")
		read, err := readTaskFile(id, path)
		if err != nil || read.path != name || len(read.tasks) < 60 {
			t.Errorf("%s: %d tasks of %s (%v)", id, len(read.tasks), read.path, err)
		}
		// A file of one's own comes first.
		if err := os.WriteFile(path, []byte(`{"task_id":"a","prompt":"?","answer":"1","scorer":"math"}`+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		read, err = readTaskFile(id, path)
		if err != nil || read.path != path || len(read.tasks) != 1 {
			t.Errorf("%s: %d tasks of %s (%v)", id, len(read.tasks), read.path, err)
		}
	}
	if _, err := readTaskFile("aime24", filepath.Join(dir, "aime24.jsonl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("aime24 without a file: %v", err)
	}
}
