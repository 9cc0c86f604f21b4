package main

import (
	"os"
	"path/filepath"
	"testing"
)

const inspectLogs = "../internal/harness/testdata/inspect/"

func TestImport(t *testing.T) {
	to := filepath.Join(t.TempDir(), "p.csv")
	code, stdout, stderr := onShell("import", inspectLogs+"zstd.eval", "--to", to)
	if code != exitDone || stderr != "" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	want(t, "the summary", stdout, "org__quiz__model=mockllm__model: 3 tasks", "written: "+to)
	if _, err := os.Stat(to); err != nil {
		t.Error(err)
	}

	// What follows from an allocation, or has grades, compares with nothing.
	code, _, stderr = onShell("compare", to, to)
	if code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	want(t, "the error", stderr, "p.csv: profile org__quiz__model=mockllm__model has rewards between 0 and 1", "speceval evaluate --prior")
	onShell("import", inspectLogs+"allocated.eval", "--to", to)
	_, _, stderr = onShell("compare", to, to)
	want(t, "the error", stderr, "profile org__quiz__model=mockllm__model is of an allocation")

	for _, words := range [][]string{{"import", "--to", to}, {"import", inspectLogs}, {"export"}, {"export", "x", "--format", "absent"}} {
		if code, _, stderr := onShell(words...); code != exitUsage || stderr == "" {
			t.Errorf("%q: exit code %d, %s", words, code, stderr)
		}
	}
	code, _, stderr = onShell("import", inspectLogs+"parts.eval", "--to", to)
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	want(t, "the error", stderr, "parts.eval: summaries.json", "choose one with --scorer, of parts/right, parts/style")
}
