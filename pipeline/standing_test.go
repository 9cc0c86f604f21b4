package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"speceval/pipeline/dag"
	"speceval/pipeline/executor"
	"speceval/pipeline/runlog"
	"speceval/pipeline/status"
)

// status is what status --json says, a stage by its name.
func (b *bench) status(flags string) (st status.Status, stages map[string]status.Stage) {
	b.t.Helper()
	stdout, _ := b.ok("status --json " + flags)
	if err := json.Unmarshal([]byte(stdout), &st); err != nil {
		b.t.Fatal(err)
	}
	stages = make(map[string]status.Stage)
	for _, s := range st.Stages {
		stages[s.Name] = s
	}
	return st, stages
}

func TestStatusWhileARunIsUnderWay(t *testing.T) {
	b := newBench(t)
	under, goOn := make(chan bool), make(chan bool)
	b.hook = func(_ context.Context, unit string) error {
		switch unit {
		case "replay/a":
			return errBroken
		case "replay/c":
			under <- true
			<-goOn
		}
		return nil
	}
	done := make(chan bool)
	go func() {
		b.do("run --keep-going")
		close(done)
	}()
	<-under
	for !strings.Contains(b.logged(), `"msg":"unit started","host":"lab","stage":"replay","unit":"c"`) {
		runtime.Gosched() // the unit may be quicker than the line about it
	}
	looker := newBench(t)
	looker.out = b.out
	st, stages := looker.status("")
	if r := stages["replay"]; r.Queued != 0 || r.Running != 1 || r.Failed != 1 || r.Fresh != 1 || r.Missing != 2 {
		t.Errorf("under way: %+v", r)
	}
	if !strings.HasPrefix(st.Run, "pid 7 on lab, ") {
		t.Errorf("the run under way is %q", st.Run)
	}
	text, _ := looker.ok("status")
	want(t, "status", text, "a run is under way: pid 7 on lab, ", "failed, and not fresh since:\n  replay/a: broken\n    "+b.out+"/logs/run-")
	close(goOn)
	<-done
	st, stages = looker.status("")
	if r := stages["replay"]; r.Running != 0 || r.Failed != 1 || st.Run != "" || len(st.Failures) != 1 || st.Failures[0].Host != "lab" {
		t.Errorf("after the run: %+v %+v", r, st)
	}
}

func TestAUnitFailedUntilItIsFreshOrAnother(t *testing.T) {
	b := newBench(t)
	b.hook = func(_ context.Context, unit string) error {
		if unit == "replay/b" {
			return fmt.Errorf("%w\n  in many\n  lines", errBroken)
		}
		return nil
	}
	b.do("run")
	if st, stages := b.status(""); stages["replay"].Failed != 1 || len(st.Failures) != 1 || st.Failures[0].Error != "broken" ||
		!strings.Contains(st.Failures[0].Log, "/logs/run-") {
		t.Errorf("after the failure: %+v", st)
	}
	if _, stages := b.status("--set replay.draws=1024"); stages["replay"].Failed != 0 {
		t.Error("another unit counts as failed")
	}
	b.hook = nil
	key := regexp.MustCompile(`"unit":"b","key":"(\w+)"`).FindStringSubmatch(b.logged())[1]
	b.ok("unit replay " + key) // writes no log of a run
	if st, stages := b.status(""); stages["replay"].Failed != 0 || len(st.Failures) != 0 {
		t.Errorf("after it has run: %+v", st)
	}
}

// TestAKilledRunRunsNothing takes the end of a log away, as a kill does.
func TestAKilledRunRunsNothing(t *testing.T) {
	b := newBench(t)
	b.hook = func(context.Context, string) error { return errBroken }
	b.do("run")
	names, _ := filepath.Glob(filepath.Join(b.out, "logs", "run-*"))
	line, _, _ := strings.Cut(b.logged(), `,"units"`)
	_, rest, _ := strings.Cut(b.logged(), "\n")
	started, _, _ := strings.Cut(rest, "\n")
	if err := os.WriteFile(names[0], []byte(line+"}\n"+started+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, stages := b.status(""); stages["replay"].Running != 0 {
		t.Errorf("a unit of a dead run is running: %+v", stages["replay"])
	}
	var log struct{ Holder string }
	if err := json.Unmarshal([]byte(line+"}"), &log); err != nil {
		t.Fatal(err)
	}
	for holder, want := range map[string]int{log.Holder: 1, "pid 8 on lab: another run": 0} {
		lock, err := dag.Acquire(b.out, holder)
		if err != nil {
			t.Fatal(err)
		}
		if _, stages := b.status(""); stages["replay"].Running != want {
			t.Errorf("with the lock of %s %d units are running, want %d", holder, stages["replay"].Running, want)
		}
		lock.Release()
	}
}

func TestStatusOfUnitsElsewhere(t *testing.T) {
	b := newBench(t)
	b.hook = func(_ context.Context, unit string) error {
		if unit != "report/table" {
			return errors.New("lost its machine")
		}
		return nil
	}
	b.do("run --keep-going")
	ref := func(unit string) dag.Ref { return dag.Ref{Stage: "replay", Unit: unit} }
	b.far = []executor.Standing{
		{Unit: ref("a"), State: runlog.Queued, Job: "12_3"},
		{Unit: ref("b"), State: runlog.Started, Job: "12_4", Node: "n1"},
		{Unit: ref("c"), State: runlog.Failed, Job: "12_5", Node: "n2", Error: "out of memory", Log: "slurm/1/element-5.log"},
		{Unit: dag.Ref{Stage: "unknown", Unit: "x"}, State: runlog.Started},
	}
	st, stages := b.status("")
	if r := stages["replay"]; r.Queued != 1 || r.Running != 1 || r.Failed != 1 || len(st.Failures) != 1 {
		t.Errorf("%+v, failures %+v", r, st.Failures)
	}
	text, _ := b.ok("status")
	want(t, "status", text, "  replay/c: out of memory\n    slurm/1/element-5.log, job 12_5, on n2\n", "       1        1       1  never run")
}
