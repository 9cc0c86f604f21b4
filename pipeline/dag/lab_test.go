package dag

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hooks run before the own work of units, by their names.
type hooks map[string]func(ctx context.Context, job *Job) error

// lab is a small experiment in a temporary folder. Each unit writes a text
// that depends on its configuration and the texts of its inputs, and nothing
// else, so that equal inputs give equal bytes.
type lab struct {
	t       *testing.T
	dir     string
	stages  []Stage
	workers int
	keep    bool // KeepGoing

	mu   sync.Mutex
	ran  []string // units run, in order of start
	hook hooks
}

func newLab(t *testing.T) *lab { return &lab{t: t, dir: t.TempDir(), workers: 1} }

// add appends a unit to a stage, which is made if it is not there. needs are
// "stage/unit"; the unit writes stage/unit.txt.
func (l *lab) add(stage, unit string, config map[string]string, needs ...string) {
	if n := len(l.stages); n == 0 || l.stages[n-1].Name != stage {
		l.stages = append(l.stages, Stage{Name: stage, Version: 1})
	}
	s := &l.stages[len(l.stages)-1]
	u := Unit{
		ID: unit, Config: config, Seed: "seed/" + unit, Provenance: "computed",
		Outputs: []string{stage + "/" + unit + ".txt"},
	}
	for _, need := range needs {
		u.Needs = append(u.Needs, refOf(need))
	}
	at, place := len(l.stages)-1, len(s.Units)
	u.Run = func(ctx context.Context, job *Job) error { return l.work(ctx, &l.stages[at].Units[place], job) }
	s.Units = append(s.Units, u)
}

// refOf is the unit of a name "stage/unit".
func refOf(name string) Ref {
	stage, unit, _ := strings.Cut(name, "/")
	return Ref{stage, unit}
}

// unit finds a unit by its name.
func (l *lab) unit(name string) *Unit {
	for s := range l.stages {
		for u := range l.stages[s].Units {
			if l.stages[s].Name+"/"+l.stages[s].Units[u].ID == name {
				return &l.stages[s].Units[u]
			}
		}
	}
	panic("the lab has no unit " + name)
}

func (l *lab) work(ctx context.Context, u *Unit, job *Job) error {
	l.mu.Lock()
	l.ran = append(l.ran, job.ref.String())
	l.mu.Unlock()
	if hook := l.hook[job.ref.String()]; hook != nil {
		if err := hook(ctx, job); err != nil {
			return err
		}
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(u.Config)) {
		fmt.Fprintf(&b, "%s=%s\n", key, u.Config[key])
	}
	for _, need := range u.Needs {
		path, err := job.Input(need.Stage + "/" + need.Unit + ".txt")
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "[%s]\n", must(os.ReadFile(path)))
	}
	return job.Write(u.Outputs[0], -1, text(b.String()))
}

// crossing is the usual lab: score (2 units) → replay (3 units, one of which
// needs another) → report (1 unit, needs all of replay).
func crossing(t *testing.T) *lab { return crossingIn(t, t.TempDir()) }

func crossingIn(t *testing.T, dir string) *lab {
	l := &lab{t: t, dir: dir, workers: 1}
	l.add("score", "a", map[string]string{"score.k": "3"})
	l.add("score", "b", map[string]string{"score.k": "3"})
	l.add("replay", "x", map[string]string{"replay.draws": "8192"}, "score/a")
	l.add("replay", "y", map[string]string{"replay.draws": "8192"}, "score/b")
	l.add("replay", "z", nil, "replay/x", "score/b")
	l.add("report", "all", nil, "replay/x", "replay/y", "replay/z")
	return l
}

func (l *lab) scan() *Snapshot {
	s := must(must(New(l.stages)).Scan(context.Background(), l.dir))
	s.slow = 1
	return s
}

func (l *lab) plan(sel Selection) *Plan { return must(l.scan().Plan(sel)) }

func (l *lab) runner() *Runner {
	return &Runner{
		Executor: pool(l.workers), Now: time.Now, KeepGoing: l.keep,
		Origin: Origin{Commit: "abc", Host: "lab"},
	}
}

// try runs a selection and returns the units that ran, in order of start.
func (l *lab) try(sel Selection) ([]string, error) {
	l.ran = nil
	err := l.runner().Run(l.t.Context(), nil, l.plan(sel))
	return l.ran, err
}

// run is try without an error.
func (l *lab) run(sel Selection) []string { return must(l.try(sel)) }

func (l *lab) file(name string) string { return filepath.Join(l.dir, filepath.FromSlash(name)) }

func (l *lab) put(name, content string) {
	ok(l.t, os.MkdirAll(filepath.Dir(l.file(name)), 0o777))
	ok(l.t, os.WriteFile(l.file(name), []byte(content), 0o666))
}

func (l *lab) get(name string) string { return string(must(os.ReadFile(l.file(name)))) }

func (l *lab) remove(name string) { ok(l.t, os.Remove(l.file(name))) }

// contents are the output files by name, without manifests.
func (l *lab) contents() map[string]string {
	l.t.Helper()
	files := make(map[string]string)
	ok(l.t, fs.WalkDir(os.DirFS(l.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(name, manifestDir) {
			files[name] = l.get(name)
		}
		return err
	}))
	return files
}

// planned lists the units of a plan with their reasons.
func planned(p *Plan) map[string]string {
	got := make(map[string]string)
	for _, s := range p.Stages {
		for _, u := range s.Run {
			var why []string
			for _, r := range u.Reasons {
				why = append(why, r.String())
			}
			got[u.Unit.String()] = strings.Join(why, "; ")
		}
	}
	return got
}

// wantUnits fails unless these are the units, in any order.
func wantUnits(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if got, want := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("%s: units %v, want %v", what, got, want)
	}
}

// pool runs units on so many goroutines.
type pool int

func (p pool) Execute(ctx context.Context, ready <-chan Task, results chan<- Result) {
	var wg sync.WaitGroup
	for range int(p) {
		wg.Go(func() {
			for task := range ready {
				results <- Result{task, task.Run(ctx)}
			}
		})
	}
	wg.Wait()
}

var errBroken = errors.New("broken")

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// same fails where a value is not the wanted one.
func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// says fails unless an error has every part.
func says(t testing.TB, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want %q", err, part)
		}
	}
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
