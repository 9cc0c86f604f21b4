package drill

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
)

// Compare compares the results in an output folder with those in another one, byte for
// byte: every file of [Lab.Results], and of the manifests keys,
// inputs and outputs.
func (l *Lab) Compare(want, got string) []Difference {
	l.Helper()
	return l.compare(want, got, func(string) bool { return true })
}

// CompareRollouts compares the parts of rollouts alone, by their rows, without the
// columns latency_seconds and server: two runs never agree on them, since no seed
// determines them.
func (l *Lab) CompareRollouts(want, got string) (found []Difference) {
	l.Helper()
	for _, name := range l.either(want, got, isPart) {
		why, err := compareParts(filepath.Join(want, filepath.FromSlash(name)), filepath.Join(got, filepath.FromSlash(name)))
		l.OK(err)
		if why != "" {
			found = append(found, Difference{name, 1, why})
		}
	}
	return found
}

// SameRollouts reports whether the parts of rollouts are the same bytes.
func (l *Lab) SameRollouts(want, got string) bool { return len(l.compare(want, got, isPart)) == 0 }

func isPart(name string) bool { return strings.HasPrefix(name, "generate/") }

// either are the results in either of two output folders that are wanted, by name.
func (l *Lab) either(want, got string, wanted func(name string) bool) []string {
	l.Helper()
	all := slices.DeleteFunc(append(l.Results(want), l.Results(got)...), func(name string) bool { return !wanted(name) })
	slices.Sort(all)
	return slices.Compact(all)
}

func (l *Lab) compare(want, got string, wanted func(name string) bool) (found []Difference) {
	l.Helper()
	for _, name := range l.either(want, got, wanted) {
		d, err := compareFile(want, got, name)
		l.OK(err)
		if d != nil {
			found = append(found, *d)
		}
	}
	return append(found, l.compareManifests(want, got, wanted)...)
}

func compareFile(want, got, name string) (*Difference, error) {
	a, errA := os.ReadFile(filepath.Join(want, filepath.FromSlash(name)))
	b, errB := os.ReadFile(filepath.Join(got, filepath.FromSlash(name)))
	switch {
	case errors.Is(errA, fs.ErrNotExist):
		return &Difference{name, max(1, len(b)), "should not be there"}, errB
	case errors.Is(errB, fs.ErrNotExist):
		return &Difference{name, max(1, len(a)), "is not there"}, errA
	case errA != nil || errB != nil:
		return nil, errors.Join(errA, errB)
	case bytes.Equal(a, b):
		return nil, nil
	}
	return &Difference{name, differing(a, b), fmt.Sprintf("differs, %d bytes and %d", len(a), len(b))}, nil
}

// differing counts the bytes that differ in two texts.
func differing(a, b []byte) int {
	shorter := min(len(a), len(b))
	n := max(len(a), len(b)) - shorter
	for i := range shorter {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// compareManifests compares keys, inputs and outputs of units whose first output is
// wanted.
func (l *Lab) compareManifests(want, got string, wanted func(name string) bool) (found []Difference) {
	units := func(out string) map[string]Manifest {
		all := make(map[string]Manifest)
		for _, m := range l.Units(out, Stages...) {
			if len(m.Outputs) > 0 && wanted(m.Outputs[0].Path) {
				m.Path, m.WallSeconds = "", 0 // every run has its own
				all[m.Name()] = m
			}
		}
		return all
	}
	a, b := units(want), units(got)
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !reflect.DeepEqual(a[name], b[name]) {
			found = append(found, Difference{"the manifest of " + name, 1, "is missing, or of another key or other files"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[name]; !ok {
			found = append(found, Difference{"the manifest of " + name, 1, "should not be there"})
		}
	}
	return found
}

// own are the names at the top of an output folder that are no results: the
// program's own files, what it has put aside, and the page, which also shows when
// and where units ran.
var own = []string{"manifests", "scratch", "superseded", "logs", "slurm", ".lock", "report.html"}

// Results lists the files of an output folder that must be the same bytes in every
// run of an experiment: all but the program's own, report.html and what was moved
// aside. They are slash-separated and sorted.
func (l *Lab) Results(out string) (all []string) {
	l.Helper()
	for _, path := range l.Walk(out) {
		name, err := filepath.Rel(out, path)
		l.OK(err)
		name = filepath.ToSlash(name)
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(own, top) && !strings.Contains(name, ".edited-") {
			all = append(all, name)
		}
	}
	return all
}

// compareParts returns how two parts differ; "" if they do not.
func compareParts(want, got string) (string, error) {
	_, errWant := os.Stat(want)
	_, errGot := os.Stat(got)
	if errors.Is(errors.Join(errWant, errGot), fs.ErrNotExist) {
		return "is in one of the folders alone", nil
	}
	a, footA, errA := rowfile.ReadFile[rollout.Rollout](want)
	b, footB, errB := rowfile.ReadFile[rollout.Rollout](got)
	if err := errors.Join(errA, errB); err != nil {
		return "", err
	}
	if !maps.Equal(footA, footB) {
		return fmt.Sprintf("says of itself %v, and should %v", footB, footA), nil
	}
	if len(a) != len(b) {
		return fmt.Sprintf("has %d rollouts, want %d", len(b), len(a)), nil
	}
	for i := range a {
		if x, y := determined(a[i]), determined(b[i]); !reflect.DeepEqual(x, y) {
			return fmt.Sprintf("has another %v of %s", y.ID(), y.TaskID), nil
		}
	}
	return "", nil
}

// determined is a rollout without the columns that its seed does not determine.
func determined(r rollout.Rollout) rollout.Rollout {
	r.LatencySeconds, r.Server = 0, ""
	return r
}
