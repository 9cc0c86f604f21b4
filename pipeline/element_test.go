package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
	"speceval/pipeline/slurm"
)

// batch stores a batch of the units of replay, and returns its folder.
func (b *bench) batch(change func(*slurm.Batch)) string {
	b.t.Helper()
	_, build, _ := slurm.Build()
	batch := &slurm.Batch{Format: 1, Name: "batch", Stage: "replay", Job: "12", Submitted: b.clock, Build: build, Attempt: 2, Workers: 1}
	var all []slurm.Member
	for _, unit := range regexp.MustCompile(`(?m)^  ([abc])  .*?(\w+)\)?$`).FindAllStringSubmatch(b.wants("why replay --all", exitDone), -1) {
		all = append(all, slurm.Member{Unit: unit[1], Key: unit[2]})
	}
	batch.Elements = [][]slurm.Member{nil, all}
	if change != nil {
		change(batch)
	}
	dir := filepath.Join(b.out, dag.JobsDir, batch.Name)
	write(filepath.Join(dir, "batch.json"), string(must(json.Marshal(batch))))
	return dir
}

// wantEvents wants that element 1 has logged of units, in short.
func wantEvents(t *testing.T, dir, want string) {
	t.Helper()
	all := must((&runlog.Reader{Path: slurm.EventsPath(dir, 1)}).Next())
	var short []string
	for _, e := range all {
		text := strings.TrimPrefix(e.What, "unit ") + " " + e.ID
		if e.Final {
			text += " for good"
		}
		if e.Job != "12_1" || e.Host != "lab" {
			t.Errorf("event %+v, want job 12_1 on lab", e)
		}
		short = append(short, text)
	}
	same(t, "events", strings.Join(short, ", "), want)
}

func elementBench(t *testing.T) *bench {
	b := newBench(t)
	b.environment = []string{"SLURM_ARRAY_TASK_ID=1", "SLURM_ARRAY_JOB_ID=12"}
	return b
}

func TestAnElementRunsItsUnits(t *testing.T) {
	b := elementBench(t)
	dir := b.batch(nil)
	b.fails("replay/b", errors.New("out of luck"))
	b.wants("unit --element "+dir, exitFailed, "unit replay/b: out of luck")
	wantEvents(t, dir, "started a, done a, started b, failed b, started c, done c")
	want(t, "the manifest", read(filepath.Join(b.out, "manifests", "replay", "c.json")), `"job": "12_1"`, `"submitted": "2026-11-21T12:00:`, `"queue_seconds": `, `"attempt": 2`)

	b.hook = nil // it is requeued
	b.wants("unit --element "+dir, exitFailed, "replay/a was done before", "unit replay/b failed before it was requeued, and is left alone: unit replay/b: out of luck")
	wantEvents(t, dir, "started a, done a, started b, failed b, started c, done c, done a, done c")
}

// TestAnElementRunsFreshUnitsAgain once, if the batch says so.
func TestAnElementRunsFreshUnitsAgain(t *testing.T) {
	b := elementBench(t)
	dir := b.batch(func(batch *slurm.Batch) { batch.Redo = true })
	b.ok("run replay")
	for range 2 {
		b.ok("unit --element " + dir)
	}
	wantEvents(t, dir, "started a, done a, started b, done b, started c, done c, done a, done b, done c")
	b.wants("run replay", exitDone, "replay: nothing to run: 3 units fresh")
}

func TestAnElementSeveralUnitsAtATime(t *testing.T) {
	b := elementBench(t)
	dir := b.batch(func(batch *slurm.Batch) { batch.Workers = 3 })
	meet := make(chan struct{}, 3)
	b.hook = func(context.Context, string) error {
		meet <- struct{}{}
		for len(meet) < 3 { // none ends before all have begun
			time.Sleep(time.Millisecond)
		}
		return nil
	}
	b.ok("unit --element " + dir)
}

func TestAnElementRefuses(t *testing.T) {
	for _, test := range []struct {
		change      func(*slurm.Batch)
		environment []string
		code        int
		says        string
		events      string
	}{
		{func(batch *slurm.Batch) { batch.Build = "0123456789" }, nil,
			exitFailed, "is not the program that submitted this job", "failed a for good, failed b for good, failed c for good"},
		{func(batch *slurm.Batch) { batch.Elements[1][1].Key = strings.Repeat("0", 64) }, nil,
			exitFailed, "unit replay/b no longer has the key", "started a, done a, failed b for good, started c, done c"},
		{func(batch *slurm.Batch) { batch.Elements[1][1].Unit = "d" }, nil,
			exitFailed, "there is no unit replay/d", "failed a for good, failed d for good, failed c for good"},
		{nil, []string{"SLURM_ARRAY_JOB_ID=12"}, exitUsage, `SPECEVAL_ELEMENT or SLURM_ARRAY_TASK_ID is ""`, ""},
		{nil, []string{"SLURM_ARRAY_TASK_ID=2"}, exitUsage, "want the number of one of the 2 elements", ""},
		{func(batch *slurm.Batch) { batch.Format = 9 }, nil, exitFailed, "has format 9", ""},
	} {
		b := elementBench(t)
		if test.environment != nil {
			b.environment = test.environment
		}
		dir := b.batch(test.change)
		b.wants("unit --element "+dir, test.code, test.says)
		wantEvents(t, dir, test.events)
	}
}
