package runlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
)

var (
	unit = dag.Ref{Stage: "replay", Unit: "design/hbn/n=30"}
	noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	file := must(os.Create(path))
	defer file.Close()
	reader := (&Reader{Path: path})
	log := New(file, func() time.Time { return noon }, "n1", "12_3")
	log.Log(Of(Started, unit, "abc"))
	far := dag.Progress{Done: 3, Total: 7, Stored: 1, What: "rollouts", Detail: "2 M tokens"}
	told := Of(Told, unit, "abc")
	told.Progress = &far
	log.Log(told)
	log.Failed(unit, "abc", errors.New("no\nroom"), true)
	log.Done(unit, &dag.Manifest{Key: "abc"})
	log.Log(Of(Stopped, unit, "abc"))
	log.Log(Event{What: Ended, Use: &Use{3, 2.5, 1 << 20}}) // of an element, which is no event of a unit
	got := must(reader.Next())
	event := func(what, level string) Event {
		return Event{Time: noon, Level: level, What: what, Stage: unit.Stage, ID: unit.Unit, Key: "abc", Host: "n1", Job: "12_3", Log: path}
	}
	halfway, failed, done := event(Told, "INFO"), event(Failed, "ERROR"), event(Done, "INFO")
	halfway.Progress, done.Use = &far, &Use{}
	failed.Error, failed.Final = "no\nroom", true
	if want := []Event{event(Started, "INFO"), halfway, failed, done, event(Stopped, "INFO")}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if more, err := reader.Next(); len(more) > 0 || err != nil {
		t.Errorf("read twice: %v, %v", more, err)
	}
	const last = `{"time":"2026-01-01T12:00:00Z","level":"INFO","msg":"element ended","host":"n1","job":"12_3","wall_seconds":3,"cpu_seconds":2.5,"peak_bytes":1048576}` + "\n"
	if text, err := os.ReadFile(path); err != nil || !strings.HasSuffix(string(text), last) {
		t.Errorf("the log is %s, %v", text, err)
	}
}

func TestALogThatGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	reader := (&Reader{Path: path})
	if events, err := reader.Next(); len(events) > 0 || err != nil {
		t.Fatalf("before there is a log: %v, %v", events, err)
	}
	var b bytes.Buffer
	New(&b, time.Now, "", "").Log(Of(Started, unit, "abc"))
	half := b.Len() / 2
	for _, step := range []struct {
		text string
		want int
	}{{"a library's warning\n", 0}, {b.String()[:half], 0}, {b.String()[half:], 1}, {`{"msg":"something else"}` + "\n", 0}} {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err == nil {
			_, err = file.WriteString(step.text)
			file.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if events, err := reader.Next(); len(events) != step.want || err != nil {
			t.Errorf("after %q: %v, %v", step.text, events, err)
		}
	}
}

var errBroken = errors.New("broken\nin two lines")

// three is a stage of three units, of which b and c can be made to fail.
func three(fail map[string]error) []dag.Stage {
	stage := dag.Stage{Name: "replay"}
	for _, id := range []string{"a", "b", "c"} {
		stage.Units = append(stage.Units, dag.Unit{ID: id, Outputs: []string{id + ".txt"}, Provenance: "computed",
			Run: func(_ context.Context, job *dag.Job) error {
				if fail[id] != nil {
					return fail[id]
				}
				return job.Write(id+".txt", -1, func(w io.Writer) error { _, err := io.WriteString(w, id); return err })
			}})
	}
	return []dag.Stage{stage}
}

// recorded runs what is stale of the stages as process pid, with a log, and returns what it warns of.
func recorded(t *testing.T, out string, stages []dag.Stage, pid int) (warnings int) {
	t.Helper()
	plan := dagtest.Plan(t, stages, out, dag.Selection{})
	of := Run{PID: pid, Command: "speceval run", Commit: "abc", Config: "e.toml", Holder: "pid 7 on n1"}
	observe, end := Record(filepath.Join(out, "logs"), of, "n1", func() time.Time { return noon }, plan, func(string) bool { return false }, func(error) { warnings++ })
	runner := dag.Runner{Executor: dagtest.Serial{}, Observe: observe, Origin: dagtest.Origin, Now: time.Now, KeepGoing: true}
	runner.Run(t.Context(), nil, plan)
	end()
	return warnings
}

// summary is what a log says, a word or two for each line.
func summary(t *testing.T, path string) string {
	t.Helper()
	text := must(os.ReadFile(path))
	var words []string
	for text := range strings.Lines(string(text)) {
		var l struct {
			Msg, Unit, Key, Host, Error, Command, Commit, Config, Holder string
			PID, Units, Done, Failed                                     int
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		switch l.Msg {
		case RunStarted:
			words = append(words, fmt.Sprint("run of ", l.Units, " by ", l.PID, l.Host, l.Command, l.Commit, l.Config, l.Holder))
		case RunEnded:
			words = append(words, fmt.Sprint("ended ", l.Units, l.Done, l.Failed))
		default:
			if len(l.Key) != 64 {
				t.Errorf("the key of %q is %q", text, l.Key)
			}
			words = append(words, strings.TrimPrefix(l.Msg, "unit ")+" "+l.Unit)
		}
	}
	return strings.Join(words, "; ")
}

func TestARunIsRecorded(t *testing.T) {
	out := t.TempDir()
	if recorded(t, out, three(map[string]error{"b": errBroken}), 7) != 0 {
		t.Error("it warns")
	}
	path := filepath.Join(out, "logs", "run-20260101T120000.000Z-7.jsonl")
	const want = "run of 3 by 7n1speceval runabce.tomlpid 7 on n1; started a; done a; started b; failed b; started c; done c; ended 3 2 1"
	if got := summary(t, path); got != want {
		t.Errorf("the log says %s\nwant %s", got, want)
	}
	open, err := Stand(filepath.Dir(path), "pid 7 on n1")
	if err != nil || len(open) != 1 || open[0].What != Failed || open[0].ID != "b" || open[0].Log != path || open[0].Error != errBroken.Error() {
		t.Errorf("the run stands %+v, %v", open, err)
	}
}

func TestARunThatIsStopped(t *testing.T) {
	dir := t.TempDir()
	plan := dagtest.Plan(t, three(nil), t.TempDir(), dag.Selection{})
	observe, end := Record(dir, Run{Holder: "pid 7 on n1: all"}, "", func() time.Time { return noon }, plan, func(stage string) bool { return stage == "far" }, nil)
	key := strings.Repeat("k", 64)
	observe(dag.Event{Unit: dag.Ref{Stage: "replay", Unit: "b"}, Key: key})
	observe(dag.Event{Unit: dag.Ref{Stage: "far", Unit: "a"}, Key: key})
	if open, err := Stand(dir, "pid 7 on n1"); err != nil || len(open) != 2 || open[0].What != Started || open[1].What != Queued {
		t.Errorf("under way it stands %+v, %v", open, err)
	}
	for _, holder := range []string{"", "pid 8 on n1"} {
		if open, err := Stand(dir, holder); err != nil || len(open) > 0 {
			t.Errorf("killed, while %q has the lock, it stands %+v, %v", holder, open, err)
		}
	}
	end()
	if open, err := Stand(dir, "pid 7 on n1"); err != nil || len(open) > 0 {
		t.Errorf("at the end it stands %+v, %v", open, err)
	}
	if got := summary(t, runLogs(dir)[0]); !strings.HasSuffix(got, "started b; queued a; ended 3 0 0") {
		t.Errorf("the log says %s", got)
	}
}

// TestALogIsCutOffAnywhere cuts a log off at every place.
func TestALogIsCutOffAnywhere(t *testing.T) {
	dir := t.TempDir()
	file := must(create(dir, noon, 7))
	log := New(file, func() time.Time { return noon }, "h", "")
	a := dag.Ref{Stage: "s", Unit: "a"}
	b := dag.Ref{Stage: "s", Unit: "b"}
	log.Log(Event{What: RunStarted, Run: &Run{Command: "c", Holder: "h"}, Units: 2})
	log.Log(Of(Started, a, "1"))
	log.Log(Of(Started, b, "2"))
	log.Failed(a, "1", errBroken, false)
	log.Done(b, &dag.Manifest{Key: "2"})
	file.Close()
	open, err := Stand(dir, "h")
	if err != nil || len(open) != 1 || open[0].Unit() != a || open[0].What != Failed {
		t.Errorf("it stands %+v, %v", open, err)
	}
	text := must(os.ReadFile(file.Name()))
	for n := range len(text) {
		ok(t, os.WriteFile(file.Name(), text[:n], 0o666))
		open, err := Stand(dir, "h")
		if want := []int{0, 0, 1, 2, 2, 1}[strings.Count(string(text[:n]), "\n")]; err != nil || len(open) != want {
			t.Fatalf("cut off after %d bytes it stands %+v, %v, want %d units", n, open, err, want)
		}
	}
}

func TestOldLogsGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	ok(t, os.MkdirAll(dir, 0o777))
	other := filepath.Join(dir, "other.jsonl")
	ok(t, os.WriteFile(other, nil, 0o666))
	for i := range kept + 5 {
		file := must(create(dir, noon.Add(time.Duration(i)*time.Second), 7))
		file.Close()
	}
	all := runLogs(dir)
	if len(all) != kept || !strings.HasSuffix(all[0], "run-20260101T120005.000Z-7.jsonl") {
		t.Errorf("kept %v", all)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("the log of another program: %v", err)
	}
}

func TestWithoutALogTheRunGoesOn(t *testing.T) {
	out := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(out, "logs"), nil, 0o666))
	if n := recorded(t, out, three(nil), 7); n != 1 {
		t.Errorf("%d warnings, want one", n)
	}
	for _, id := range []string{"a", "b", "c"} {
		if _, err := os.Stat(filepath.Join(out, id+".txt")); err != nil {
			t.Error(err)
		}
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
