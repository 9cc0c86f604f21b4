package runlog

import (
	"bytes"
	"context"
	"errors"
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
	if text := must(os.ReadFile(path)); !strings.HasSuffix(string(text), last) {
		t.Errorf("the log is %s", text)
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
		file := must(os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666))
		must(file.WriteString(step.text))
		file.Close()
		if events, err := reader.Next(); len(events) != step.want || err != nil {
			t.Errorf("after %q: %v, %v", step.text, events, err)
		}
	}
}

func TestARunThatIsStopped(t *testing.T) {
	dir := t.TempDir()
	stages := []dag.Stage{{Name: "replay", Units: []dag.Unit{{ID: "b", Outputs: []string{"b.txt"}, Run: func(context.Context, *dag.Job) error { return nil }}}}}
	plan := dagtest.Plan(t, stages, t.TempDir(), dag.Selection{})
	observe, end := Record(dir, Run{Holder: "pid 7 on n1: all"}, "", func() time.Time { return noon }, plan, func(stage string) bool { return stage == "far" }, nil)
	observe(dag.Event{Unit: dag.Ref{Stage: "replay", Unit: "b"}, Key: "k"})
	observe(dag.Event{Unit: dag.Ref{Stage: "far", Unit: "a"}, Key: "k"})
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
	log.Failed(a, "1", errors.New("broken"), false)
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
		must(create(dir, noon.Add(time.Duration(i)*time.Second), 7)).Close()
	}
	all := runLogs(dir)
	if len(all) != kept || !strings.HasSuffix(all[0], "run-20260101T120005.000Z-7.jsonl") {
		t.Errorf("kept %v", all)
	}
	must(os.Stat(other)) // the log of another program
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
