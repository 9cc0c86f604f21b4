package runlog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"speceval/internal/process"
	"speceval/pipeline/dag"
)

var (
	unit  = dag.Ref{Stage: "replay", Unit: "design/hbn/n=30"}
	noon  = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	place = Place{Host: "n1", Job: "12_3"}
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader := NewReader(path)
	log := New(file, func() time.Time { return noon }, place)
	log.Started(unit, "abc")
	far := dag.Progress{Done: 3, Total: 7, Stored: 1, What: "rollouts", Detail: "2 M tokens"}
	log.Told(unit, "abc", far)
	log.Failed(unit, "abc", errors.New("no\nroom"), true)
	log.Done(unit, &dag.Manifest{Key: "abc"})
	log.Stopped(unit, "abc")
	got, err := reader.Next()
	if err != nil {
		t.Fatal(err)
	}
	event := func(what string) Event {
		return Event{Time: noon, What: what, Unit: unit, Key: "abc", Host: "n1", Job: "12_3"}
	}
	told, failed := event(Told), event(Failed)
	told.Progress = &far
	failed.Error, failed.Final = "no\nroom", true
	if want := []Event{event(Started), told, failed, event(Done), event(Stopped)}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if more, err := reader.Next(); len(more) > 0 || err != nil {
		t.Errorf("read twice: %v, %v", more, err)
	}
}

func TestALogThatGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	reader := NewReader(path)
	if events, err := reader.Next(); len(events) > 0 || err != nil {
		t.Fatalf("before there is a log: %v, %v", events, err)
	}
	var b bytes.Buffer
	New(&b, time.Now, Place{}).Started(unit, "abc")
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

func TestWhatAnElementHasUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	New(file, func() time.Time { return noon }, place).ElementEnded(3*time.Second, process.Usage{CPUSeconds: 2.5, PeakBytes: 1 << 20})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"time":"2026-01-01T12:00:00Z","level":"INFO","msg":"element ended","host":"n1","job":"12_3","wall_seconds":3,"cpu_seconds":2.5,"peak_bytes":1048576}` + "\n"
	if string(text) != want {
		t.Errorf("wrote %s\nwant %s", text, want)
	}
	if events, err := NewReader(path).Next(); len(events) > 0 || err != nil {
		t.Errorf("it is read as an event of a unit: %v, %v", events, err)
	}
}
