package dag

import (
	"context"
	"io"
	"maps"
	"os"
	"strings"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestEditedOutputIsMovedAside(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	whole := l.contents()
	l.put("replay/x.txt", "my own numbers")
	l.run(Selection{})

	got := l.contents()
	const aside = "replay/x.txt.edited-17bf0be4"
	if got[aside] != "my own numbers" {
		t.Fatalf("the edited file is not kept as %s: %v", aside, editedFiles(got))
	}
	delete(got, aside)
	if !maps.Equal(got, whole) {
		t.Errorf("files %v, want %v", got, whole)
	}
	m, err := readManifest(l.dir, Ref{"replay", "x"})
	if err != nil || len(m.Notes) != 1 || !strings.Contains(m.Notes[0], aside) {
		t.Errorf("notes %q, %v do not say where the edited file is", m.Notes, err)
	}
}

func TestFileOfUnknownOriginIsMovedAside(t *testing.T) {
	l := crossing(t)
	l.put("report/all.txt", "written before there was a pipeline")
	l.run(Selection{})
	aside := editedFiles(l.contents())
	if len(aside) != 1 || l.get(aside[0]) != "written before there was a pipeline" {
		t.Errorf("the file that stood in the way is lost: %v", aside)
	}
}

// TestSameBytesAreNotKeptTwice is a run cut short between a unit's output and
// its manifest: the next run makes the same output, and has nothing to keep.
func TestSameBytesAreNotKeptTwice(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	l.remove("manifests/replay/x.json")
	l.run(Selection{})
	if aside := editedFiles(l.contents()); len(aside) > 0 {
		t.Errorf("the same bytes were kept as %v", aside)
	}
}

func TestRecordedOutputIsReplacedWithoutLitter(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	l.unit("score/a").Config["score.k"] = "4"
	l.run(Selection{})
	if aside := editedFiles(l.contents()); len(aside) > 0 {
		t.Errorf("old results were kept as %v", aside)
	}
}

func TestJobRefusesWhatIsNotDeclared(t *testing.T) {
	tests := []struct {
		name string
		do   func(j *Job) error
		want string
	}{
		{"input", func(j *Job) error { _, err := j.Input("score/b.txt"); return err }, "none of the units that it needs writes"},
		{"output", func(j *Job) error { return j.Write("replay/other.txt", -1, text("")) }, "which it does not declare"},
		{"output twice", func(j *Job) error {
			if err := j.Write("replay/x.txt", -1, text("1")); err != nil {
				return err
			}
			return j.Write("replay/x.txt", -1, text("1"))
		}, "writes replay/x.txt twice"},
		{"failing content", func(j *Job) error {
			return j.Write("replay/x.txt", -1, func(io.Writer) error { return errBroken })
		}, "write replay/x.txt: broken"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := crossing(t)
			l.hook = func(_ context.Context, unit string, j *Job) error {
				if unit == "replay/x" {
					return test.do(j)
				}
				return nil
			}
			if _, err := l.try(Selection{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestUnitThatLeavesAnOutputOutFails(t *testing.T) {
	l := crossing(t)
	l.unit("score/a").Run = func(context.Context, *Job) error { return nil }
	if _, err := l.try(Selection{}); err == nil || !strings.Contains(err.Error(), "ended without writing score/a.txt") {
		t.Errorf("error %v", err)
	}
}

func TestFailedWriteLeavesTheOldOutput(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	old := l.contents()
	l.unit("score/a").Run = func(_ context.Context, j *Job) error {
		return j.Write("score/a.txt", -1, func(w io.Writer) error {
			io.WriteString(w, strings.Repeat("half", 1<<16))
			return os.ErrDeadlineExceeded
		})
	}
	if _, err := l.try(Selection{Stages: []string{"score"}, Force: true}); err == nil {
		t.Fatal("no error")
	}
	if !maps.Equal(l.contents(), old) {
		t.Errorf("files %v, want %v", l.contents(), old)
	}
}

func TestJobKnowsWhoItIs(t *testing.T) {
	l := crossing(t)
	var footer map[string]string
	var command, key string
	l.hook = func(_ context.Context, unit string, j *Job) error {
		if unit == "replay/x" {
			footer, command, key = j.Footer("ratios/1"), j.Command(), j.Key()
		}
		return nil
	}
	r := l.runner()
	r.Origin.Dirty = true
	if err := r.Run(t.Context(), nil, l.plan(Selection{})); err != nil {
		t.Fatal(err)
	}
	m, err := readManifest(l.dir, Ref{"replay", "x"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"speceval.schema": "ratios/1", "speceval.key": m.Key, "speceval.commit": "abc-dirty"}
	if !maps.Equal(footer, want) || key != m.Key || command != "speceval run replay" {
		t.Errorf("footer %v, key %s, command %q", footer, key, command)
	}
}
