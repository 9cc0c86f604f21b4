package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"speceval/internal/rowfile"
	"speceval/pipeline/runlog"
)

// logged is the log of the newest run of the bench; empty if there is none.
func (b *bench) logged() string {
	b.t.Helper()
	names, err := filepath.Glob(filepath.Join(b.out, "logs", "run-*-7.jsonl"))
	if err != nil {
		b.t.Fatal(err)
	}
	if len(names) == 0 {
		return ""
	}
	text, err := os.ReadFile(names[len(names)-1])
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func TestARunLeavesALog(t *testing.T) {
	b := newBench(t)
	b.hook = func(_ context.Context, unit string) error {
		if unit == "replay/b" {
			return errBroken
		}
		return nil
	}
	b.do("run -q")
	want(t, "the log", b.logged(),
		`"msg":"run started","host":"lab","pid":7,"command":"speceval run -q","commit":"abc","config":"experiments.toml","holder":"pid 7 on lab, `,
		`"units":4}`, `"msg":"unit started","host":"lab","stage":"replay","unit":"a","key":"`, `"msg":"unit done"`, `"wall_seconds":1`,
		`"level":"ERROR","msg":"unit failed","host":"lab","stage":"replay","unit":"b"`, `"error":"broken"`,
		`"msg":"run ended","host":"lab","units":4,"done":1,"failed":1,"stopped":0,"left":0,"not_run":2}`)
	b.hook = nil
	b.ok("run")
	before := b.logged()
	want(t, "the log of the rest", before, `"done":3`)
	b.ok("run")
	if b.logged() != before {
		t.Errorf("a run of nothing has written a log:\n%s", b.logged())
	}
}

// runs are the rows of the record of runs.
func (b *bench) runs() []runlog.Row {
	b.t.Helper()
	rows, footer, err := rowfile.ReadFile[runlog.Row](filepath.Join(b.out, runsFile))
	if err != nil {
		b.t.Fatal(err)
	}
	if footer["speceval.schema"] != runlog.RunsSchema || footer["speceval.commit"] != "abc" {
		b.t.Errorf("footer %v", footer)
	}
	return rows
}

func TestEveryRunRecordsTheUnits(t *testing.T) {
	b := newBench(t)
	fail := func(_ context.Context, unit string) error {
		if unit == "replay/b" {
			return errBroken
		}
		return nil
	}
	b.hook = func(context.Context, string) error { return errBroken }
	b.do("run")
	if _, err := os.Stat(filepath.Join(b.out, runsFile)); err == nil {
		t.Error("a record of nothing")
	}
	b.hook = fail
	b.do("run")
	if rows := b.runs(); len(rows) != 1 || rows[0].Unit != "a" || rows[0].WallSeconds != 1 || rows[0].Host != "lab" || rows[0].Command != "speceval run" {
		t.Errorf("after a run that failed: %+v", rows)
	}
	b.hook = nil
	b.ok("run -q")
	if rows := b.runs(); len(rows) != 4 || rows[3].Stage != "report" || rows[3].Command != "speceval run -q" || !rows[3].Finished.After(rows[3].Started) {
		t.Errorf("after a whole run: %+v", rows)
	}
}

func TestARecordThatCannotBeWrittenFailsNoRun(t *testing.T) {
	b := newBench(t)
	if err := os.MkdirAll(filepath.Join(b.out, runsFile), 0o777); err != nil {
		t.Fatal(err)
	}
	_, stderr := b.ok("run")
	want(t, "stderr", stderr, "warning: the results are stored, but not the record of the runs: ")
}
