package dag

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// TestWhatIsKept disturbs a folder: what no manifest vouches for is moved aside, and
// nothing else is, such as the output of a run that was cut short before its manifest.
func TestWhatIsKept(t *testing.T) {
	for what, test := range map[string]struct {
		disturb func(l *lab)
		kept    string
	}{
		"an edited output":         {func(l *lab) { l.put("replay/x.txt", "my own numbers") }, "replay/x.txt.edited-17bf0be4"},
		"a file of unknown origin": {func(l *lab) { l.remove("manifests/report/all.json"); l.put("report/all.txt", "by hand") }, "report/all.txt.edited-c9616cb5"},
		"the same bytes":           {func(l *lab) { l.remove("manifests/replay/x.json") }, ""},
		"a recorded output":        {func(l *lab) { l.unit("score/a").Config["score.k"] = "4" }, ""},
	} {
		l := crossing(t)
		l.run(Selection{})
		test.disturb(l)
		var edited string
		if test.kept != "" {
			edited = l.get(strings.Split(test.kept, ".edited")[0])
		}
		l.run(Selection{})
		files := l.contents()
		if aside := strings.Join(editedFiles(files), " "); aside != test.kept || files[aside] != edited {
			t.Errorf("%s: kept %q, want %q", what, aside, test.kept)
		}
		var notes string
		for _, r := range l.scan().Records() {
			notes += strings.Join(r.Last.Notes, "\n")
		}
		if (notes != "") != (test.kept != "") || !strings.Contains(notes, test.kept) {
			t.Errorf("%s: notes %q do not say where the edited file is", what, notes)
		}
	}
}

func TestJobRefusesWhatIsNotDeclared(t *testing.T) {
	x := func(j *Job, w func(io.Writer) error) error { return j.Write("replay/x.txt", -1, w) }
	for want, do := range map[string]func(j *Job) error{
		"none of the units that it needs writes": func(j *Job) error { _, err := j.Input("score/b.txt"); return err },
		"which it does not declare":              func(j *Job) error { return j.Write("replay/other.txt", -1, text("")) },
		"writes replay/x.txt twice":              func(j *Job) error { return errors.Join(x(j, text("1")), x(j, text("1"))) },
		"ended without writing replay/x.txt":     func(*Job) error { return nil },
		"write replay/x.txt: broken":             func(j *Job) error { return x(j, func(io.Writer) error { return errBroken }) },
	} {
		l := crossing(t)
		l.unit("replay/x").Run = func(_ context.Context, j *Job) error { return do(j) }
		_, err := l.try(Selection{})
		says(t, err, want)
	}
}

func TestJobKnowsWhoItIs(t *testing.T) {
	l := crossing(t)
	var footer map[string]string
	var command, key string
	l.hook = hooks{"replay/x": func(_ context.Context, j *Job) error {
		footer, command, key = j.Footer("ratios/1"), j.Command(), j.Key()
		return nil
	}}
	r := l.runner()
	r.Origin.Dirty = true
	ok(t, r.Run(t.Context(), nil, l.plan(Selection{})))
	m := must(readManifest(l.dir, Ref{"replay", "x"}))
	want := map[string]string{"speceval.schema": "ratios/1", "speceval.key": m.Key, "speceval.commit": "abc-dirty"}
	if !maps.Equal(footer, want) || key != m.Key || command != "speceval run replay" {
		t.Errorf("footer %v, key %s, command %q", footer, key, command)
	}
}

// TestSingleUnitsMakeWhatARunMakes runs units one by one, as other machines do.
func TestSingleUnitsMakeWhatARunMakes(t *testing.T) {
	whole, l := crossing(t), crossing(t)
	for _, name := range whole.run(Selection{}) {
		ref := refOf(name)
		key := must(readManifest(whole.dir, ref)).Key
		s := must(must(New(l.stages)).Scan(t.Context(), l.dir, ref))
		same(t, name+" before", must(s.Fresh(ref, key[:12])), nil)
		same(t, name, must(s.RunUnit(t.Context(), ref, Origin{}, time.Now, nil)).Key, key)
	}
	wantUnits(t, "afterwards", l.run(Selection{}))
	same(t, "files", l.contents(), whole.contents())
}

// TestOneProcessAtAScratchFolder has two jobs of one unit, as when a scheduler
// starts one again that it only believes dead.
func TestOneProcessAtAScratchFolder(t *testing.T) {
	at := t.TempDir()
	job := func() *Job {
		return &Job{dir: at, ref: Ref{"generate", "b/m"}, made: Manifest{Key: "0123456789abcdef"}}
	}
	first, second := job(), job()
	dir := must(first.Scratch())
	ok(t, os.WriteFile(filepath.Join(dir, "journal"), nil, 0o666))
	_, err := second.Scratch()
	says(t, err, "another process is at work on unit generate/b/m")
	same(t, "the first, again", must(first.Scratch()), dir)
	first.letGo() // it dies
	same(t, "then the second", must(second.Scratch()), dir)
	ok(t, second.sweepScratch())
	same(t, "left", len(must(os.ReadDir(at))), 0)
	must(first.Scratch())
}

func TestHalfWrittenFilesOfOthersStay(t *testing.T) {
	l := crossing(t)
	l.put("replay/x.txt.77.partial", "somebody writes here")
	r := l.runner()
	r.Shared = true
	ok(t, r.Run(t.Context(), nil, l.plan(Selection{})))
	l.get("replay/x.txt.77.partial") // is there
	l.unit("replay/x").Config = map[string]string{"k": "2"}
	l.run(Selection{})
	if _, there := l.contents()["replay/x.txt.77.partial"]; there {
		t.Error("the file is there, and nobody else writes")
	}
}

func TestStatedCostsCountUntilAUnitHasRun(t *testing.T) {
	l := crossing(t)
	for _, name := range []string{"replay/x", "replay/y"} {
		l.unit(name).Cost = 30
	}
	same(t, "before any run", l.plan(Selection{}).Estimate(1), Estimate{Seconds: 60, Stated: 2, Unknown: 4})
	seconds := make(map[string]float64)
	r := l.runner()
	r.Executor = watching(func(task Task) { seconds[task.Ref.String()] = task.Seconds })
	ok(t, r.Run(t.Context(), nil, l.plan(Selection{})))
	if seconds["replay/x"] != 30 || seconds["replay/z"] != 0 {
		t.Errorf("the executor was told %v", seconds)
	}
	if e := l.plan(Selection{Force: true}).Estimate(1); e.Stated != 0 || e.Unknown != 0 {
		t.Errorf("after a run: %+v", e)
	}
	l.unit("replay/y").Config = map[string]string{"replay.draws": "9"}
	same(t, "with another configuration", l.plan(Selection{Stages: []string{"replay"}}).Estimate(1), Estimate{Seconds: 30, Stated: 1})
}

// TestCostsAreScaledByWhatUnitsTookHere has a unit that took three times its cost.
func TestCostsAreScaledByWhatUnitsTookHere(t *testing.T) {
	for took, scaled := range map[float64]bool{90: true, 3: false} { // 3 s are too few to go by
		l := crossing(t)
		l.unit("replay/x").Cost, l.unit("replay/y").Cost = took/3, 10
		l.run(Selection{Stages: []string{"score", "replay"}})
		m := must(readManifest(l.dir, Ref{"replay", "x"}))
		m.WallSeconds = took
		ok(t, writeManifest(l.dir, Ref{"replay", "x"}, m))
		l.remove("manifests/replay/y.json")
		s := l.scan()
		s.slow = 0
		p := must(s.Plan(Selection{Stages: []string{"replay"}}))
		if got := p.Stages[0].Run[0]; !got.Stated || got.Seconds <= 0 || (got.Seconds == 30) != scaled {
			t.Errorf("after %v s: %+v", took, got)
		}
	}
}

// TestAManifestOfBeforeIsNotDone has units run again that are fresh, and one whose
// output is gone: the manifest that stands there says nothing of this run.
func TestAManifestOfBeforeIsNotDone(t *testing.T) {
	for name, change := range map[string]func(l *lab) Selection{
		"forced":      func(*lab) Selection { return Selection{Force: true} },
		"output gone": func(l *lab) Selection { l.remove("replay/x.txt"); return Selection{} },
	} {
		l := crossing(t)
		l.run(Selection{})
		selection := change(l)
		redo := 0
		r := l.runner()
		r.Executor = watching(func(task Task) {
			if task.Redo {
				redo++
			}
		})
		ok(t, r.Run(t.Context(), nil, l.plan(selection)))
		same(t, name+": all are to be done again though fresh", redo == 6, selection.Force)
	}
}

// watching is an executor that sees its tasks, and asks each whether it is done, before and after.
type watching func(Task)

func (see watching) Execute(ctx context.Context, ready <-chan Task, results chan<- Result) {
	for task := range ready {
		see(task)
		if done, err := task.Done(); done || err != nil {
			panic("done before it has run")
		}
		err := task.Run(ctx)
		if done, unread := task.Done(); !done || unread != nil {
			panic("not done after it has run")
		}
		results <- Result{task, err}
	}
}
