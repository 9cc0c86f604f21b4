package dag

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// long is a lab of one unit with two outputs.
func long(t *testing.T, run func(ctx context.Context, job *Job) error) *lab {
	l := newLab(t)
	l.add("generate", "b/m", nil)
	u := l.unit("generate/b/m")
	u.Outputs = []string{"generate/b/part-0", "generate/b/part-1"}
	u.Run = run
	return l
}

func TestScratchSurvivesAFailureAndGoesWithSuccess(t *testing.T) {
	attempt := 0
	l := long(t, func(_ context.Context, job *Job) error {
		attempt++
		journal := filepath.Join(must(job.Scratch()), "journal")
		if attempt == 1 {
			return errors.Join(job.Write("generate/b/part-0", 1, text("zero")), os.WriteFile(journal, []byte("half"), 0o666), errBroken)
		}
		if left := must(os.ReadFile(journal)); string(left) != "half" {
			t.Errorf("the second attempt finds %q", left)
		}
		return errors.Join(job.Keep("generate/b/part-0", 1), job.Write("generate/b/part-1", 2, text("one")))
	})
	if _, err := l.try(Selection{}); !errors.Is(err, errBroken) {
		t.Fatalf("first attempt: %v", err)
	}
	l.run(Selection{})
	if _, err := os.Stat(l.file("scratch")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the scratch folder is still there: %v", err)
	}
	wantUnits(t, "again", l.run(Selection{}))
	if m := l.scan().records[0].Last; m.Outputs[0].Rows != 1 || m.Outputs[0].Bytes != 4 || m.Outputs[1].Rows != 2 {
		t.Errorf("outputs %+v", m.Outputs)
	}
}

// TestScratchFoldersOfQuickUnits has units that begin while others end, and take
// empty folders above their scratch away.
func TestScratchFoldersOfQuickUnits(t *testing.T) {
	at := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			job := &Job{dir: at, ref: Ref{Stage: "generate", Unit: fmt.Sprintf("b%d/m", i)}, made: Manifest{Key: "0123456789abcdef"}}
			for range 500 {
				ok(t, os.WriteFile(filepath.Join(must(job.Scratch()), "journal"), nil, 0o666))
				ok(t, job.sweepScratch())
			}
		})
	}
	all.Wait()
}

func TestScratchOfAnotherKeyIsNotSeen(t *testing.T) {
	var dirs []string
	l := long(t, func(_ context.Context, job *Job) error {
		dir, err := job.Scratch()
		dirs = append(dirs, dir)
		return errors.Join(err, errBroken)
	})
	for _, k := range []string{"3", "4", "3"} {
		l.unit("generate/b/m").Config = map[string]string{"k": k}
		l.try(Selection{})
	}
	if len(dirs) != 3 || dirs[0] == dirs[1] || dirs[0] != dirs[2] {
		t.Errorf("folders %v", dirs)
	}
}

func TestClearKeepsWhatItMovesAway(t *testing.T) {
	l := long(t, func(_ context.Context, job *Job) error {
		return errors.Join(job.Clear(func(name, path string) bool { return strings.HasSuffix(name, "part-0") }),
			job.Keep("generate/b/part-0", 1), job.Write("generate/b/part-1", 1, text("new")))
	})
	for _, name := range []string{"b/part-0", "b/part-1", "b/part-7.x", "other", "b/below/part-9"} { // the last two are not in the unit's folder
		l.put("generate/"+name, "old")
	}
	l.run(Selection{})
	files, moved := l.contents(), 0
	for name := range files {
		if strings.HasPrefix(name, "superseded/generate/b/part-") {
			moved++
		}
	}
	if moved != 2 || files["generate/b/part-0"] != "old" || files["generate/b/part-1"] != "new" || files["generate/other"] == "" || files["generate/b/below/part-9"] == "" || files["generate/b/part-7.x"] != "" {
		t.Errorf("files %v", files)
	}
	if notes := l.scan().records[0].Last.Notes; len(notes) != 2 || !strings.Contains(notes[1], "it is kept as superseded/generate/b/part-7.") {
		t.Errorf("notes %q", notes)
	}
}

// TestDamagedOutputsDoNotComeBack spoils an output that is recorded: the unit is
// told, and what made room for a new one is not restored, nor is what was spoilt
// since it made room.
func TestDamagedOutputsDoNotComeBack(t *testing.T) {
	const output = "generate/b/part-0"
	always := func(string) bool { return true }
	var damaged, restored bool
	l := long(t, func(_ context.Context, job *Job) error {
		var err error
		if damaged = job.Damaged(output); damaged {
			err = job.SetAside(output)
		}
		err = errors.Join(err, job.Clear(func(string, string) bool { return false }))
		restored = must(job.Restore(output, always))
		return errors.Join(err, job.Write(output, 1, text("good")), job.Write("generate/b/part-1", 1, text("other")))
	})
	run := func(what string, selection Selection, isDamaged, isRestored bool) {
		t.Helper()
		if l.run(selection); damaged != isDamaged || restored != isRestored {
			t.Errorf("%s: damaged %t, restored %t", what, damaged, restored)
		}
	}
	run("at first", Selection{}, false, false)
	l.put(output, "bad")
	run("bad", Selection{}, true, false)
	run("forced", Selection{Force: true}, false, true)
	for name, content := range l.contents() {
		if strings.HasPrefix(name, "superseded/") && content == "good" {
			l.put(name, "spoilt")
		}
	}
	l.put(output, "bad again")
	run("spoilt since", Selection{}, true, false)
}

func TestRedoOnlyOfWhatIsComplete(t *testing.T) {
	var redo []bool
	l := long(t, func(_ context.Context, job *Job) error {
		redo = append(redo, job.Redo())
		return errors.Join(job.Write("generate/b/part-0", 1, text("a")), job.Write("generate/b/part-1", 1, text("b")))
	})
	force := Selection{Stages: []string{"generate"}, Force: true}
	l.run(Selection{})
	l.run(force)
	l.remove("generate/b/part-1")
	l.run(force)
	l.unit("generate/b/m").Config = map[string]string{"k": "4"}
	l.run(Selection{})
	same(t, "redo", redo, []bool{false, true, false, false})
}

func TestADrainedUnitIsInterruptedNotFailed(t *testing.T) {
	drain := make(chan struct{})
	begun := make(chan struct{})
	l := long(t, func(_ context.Context, job *Job) error {
		close(begun)
		<-job.Draining()
		return ErrDrained
	})
	go func() {
		<-begun
		close(drain)
	}()
	err := l.runner().Run(t.Context(), drain, l.plan(Selection{}))
	var run *Error
	if !errors.As(err, &run) || !run.Interrupted || len(run.Failures) != 0 || run.NotRun != 1 {
		t.Errorf("got %+v", err)
	}
	l = long(t, func(context.Context, *Job) error { return ErrDrained })
	if _, err := l.try(Selection{}); !errors.As(err, &run) || run.Interrupted || len(run.Failures) != 1 {
		t.Errorf("a unit that drains unasked: %+v", err)
	}
}

func TestProgressAndProvenanceAreToldByTheJob(t *testing.T) {
	l := long(t, func(_ context.Context, job *Job) error {
		job.Provenance("simulated")
		for i := range 40 {
			job.Advance(Progress{Done: i, Total: 40, What: "rollouts"})
		}
		return errors.Join(job.Write("generate/b/part-0", 1, text("a")), job.Write("generate/b/part-1", 1, text("b")))
	})
	l.unit("generate/b/m").Provenance = ""
	r, last, events := l.runner(), Progress{}, 0
	r.Observe = func(e Event) {
		if events++; e.Progress != nil {
			last = *e.Progress
		}
	}
	ok(t, r.Run(t.Context(), nil, l.plan(Selection{})))
	if want := (Progress{Done: 39, Total: 40, What: "rollouts"}); events != 42 || last != want { // and the start and the end
		t.Errorf("%d events, the last progress %+v", events, last)
	}
	same(t, "provenance", l.scan().records[0].Last.Provenance, "simulated")
	wantUnits(t, "again", l.run(Selection{}))
}

func TestExpectSumsTheUnitsToRun(t *testing.T) {
	l, broken := newLab(t), true
	l.add("generate", "a", nil)
	l.unit("generate/a").Run = func(_ context.Context, job *Job) error {
		if _, err := job.Scratch(); err != nil || !broken {
			return errors.Join(err, job.Write("generate/a.txt", 1, text("a")))
		}
		job.Advance(Progress{Done: 2, Total: 3})
		return errBroken
	}
	l.add("generate", "b", nil)
	l.unit("generate/a").Expect = []Quantity{{"requests", 3}, {"tokens", 10}}
	l.unit("generate/b").Expect = []Quantity{{"requests", 4}, {"GPU-hours", 0.5}}
	same(t, "expected", l.plan(Selection{}).Stages[0].Expect(), []Quantity{{"requests", 7}, {"tokens", 10}, {"GPU-hours", 0.5}})
	l.try(Selection{})
	same(t, "requests where two of three are answered", math.Round(l.plan(Selection{}).Stages[0].Expect()[0].Amount), 1+4)
	notes := must(filepath.Glob(filepath.Join(l.dir, scratchDir, "generate", "a", "*", progressFile)))
	for damage, want := range map[string]float64{`{"done": 9, "total": 3}`: 4, `{"done": 9, "tot`: 3 + 4} {
		ok(t, os.WriteFile(notes[0], []byte(damage), 0o666))
		same(t, damage, l.plan(Selection{}).Stages[0].Expect()[0].Amount, want)
	}
	broken = false
	l.run(Selection{})
	same(t, "expected where nothing runs", l.plan(Selection{}).Stages[0].Expect(), nil)
	l.unit("generate/a").Config = map[string]string{"tasks": "three"}
	if r := l.plan(Selection{}).Stages[0].Run[0]; r.Last.WallSeconds <= 0 || r.Seconds != 3*r.Last.WallSeconds {
		t.Errorf("three requests are expected to take %v s, where one took %v s", r.Seconds, r.Last.WallSeconds)
	}
}

func TestLargeOutputsAreReadOnlyIfTheyLookChanged(t *testing.T) {
	content := strings.Repeat("x", large)
	l := long(t, func(_ context.Context, job *Job) error {
		return errors.Join(job.Write("generate/b/part-0", 1, text(content)), job.Write("generate/b/part-1", 1, text("small")))
	})
	l.run(Selection{})
	path := l.file("generate/b/part-0")
	info := must(os.Stat(path))
	look := func(what string, fresh bool) {
		t.Helper()
		same(t, what+": fresh", l.plan(Selection{}).Units() == 0, fresh)
	}
	touch := func(path string, at time.Time) { ok(t, os.Chtimes(path, at, at)) }
	look("as it was made", true)
	touch(path, info.ModTime().Add(time.Second))
	look("another time, the same content", true)
	l.put("generate/b/part-0", content+"x")
	touch(path, info.ModTime())
	look("another size at the recorded time", false)
	l.put("generate/b/part-0", "y"+content[1:])
	look("another content, and time", false)
	touch(path, info.ModTime())
	look("another content of the recorded size and time, which is not read", true)

	path = l.file("generate/b/part-1")
	info = must(os.Stat(path))
	l.put("generate/b/part-1", "Small")
	touch(path, info.ModTime())
	look("a small output of another content, the recorded size and time", false)
}
