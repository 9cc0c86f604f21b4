package lab

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

	"speceval/internal/rollout"
	"speceval/internal/rowfile"
)

// Difference is a file that two output folders do not have alike.
type Difference struct {
	Path  string // slash-separated, relative to both
	Bytes int    // that differ, of the longer one
	Why   string
}

// String is the difference for people.
func (d Difference) String() string { return d.Path + " " + d.Why }

// Total is the number of bytes that differ.
func Total(all []Difference) int {
	n := 0
	for _, d := range all {
		n += d.Bytes
	}
	return n
}

// Compare holds the results in an output folder to those in another one, byte for
// byte: every file but those that [Results] leaves out, and of the manifests keys,
// inputs and outputs.
func Compare(want, got string) ([]Difference, error) {
	return compare(want, got, func(string) bool { return true })
}

// CompareRollouts compares the parts of rollouts alone, by their rows, without the
// columns latency_seconds and server, which no two runs have alike: they are the
// only ones that a seed does not determine.
func CompareRollouts(want, got string) ([]Difference, error) {
	a, b, err := both(want, got)
	if err != nil {
		return nil, err
	}
	var found []Difference
	for _, name := range union(a, b) {
		if !isPart(name) {
			continue
		}
		if !slices.Contains(a, name) || !slices.Contains(b, name) {
			found = append(found, Difference{name, 1, "is there in one of them alone"})
			continue
		}
		why, err := compareParts(filepath.Join(want, filepath.FromSlash(name)), filepath.Join(got, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		if why != "" {
			found = append(found, Difference{name, 1, why})
		}
	}
	return found, nil
}

// SameRollouts tells whether the parts of rollouts are the same bytes.
func SameRollouts(want, got string) (bool, error) {
	found, err := compare(want, got, isPart)
	return len(found) == 0, err
}

func isPart(name string) bool { return strings.HasPrefix(name, "generate/") }

func both(want, got string) (a, b []string, err error) {
	a, errA := Results(want)
	b, errB := Results(got)
	return a, b, errors.Join(errA, errB)
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func compare(want, got string, of func(name string) bool) ([]Difference, error) {
	a, b, err := both(want, got)
	if err != nil {
		return nil, err
	}
	var found []Difference
	for _, name := range union(a, b) {
		if !of(name) {
			continue
		}
		d, err := compareFile(want, got, name)
		if err != nil {
			return nil, err
		}
		if d != nil {
			found = append(found, *d)
		}
	}
	records, err := compareManifests(want, got, of)
	return append(found, records...), err
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

// differing counts the places where two texts differ.
func differing(a, b []byte) int {
	n := max(len(a), len(b)) - min(len(a), len(b))
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// compareManifests compares keys, inputs and outputs of units; of says which, by
// their first output.
func compareManifests(want, got string, of func(name string) bool) ([]Difference, error) {
	a, errA := Units(want, Stages...)
	b, errB := Units(got, Stages...)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	there := make(map[string]Manifest)
	for _, m := range b {
		there[m.Name()] = m
	}
	var found []Difference
	for _, m := range a {
		other, ok := there[m.Name()]
		delete(there, m.Name())
		if len(m.Outputs) == 0 || !of(m.Outputs[0].Path) {
			continue
		}
		if !ok || m.Key != other.Key || !reflect.DeepEqual(m.Inputs, other.Inputs) || !reflect.DeepEqual(m.Outputs, other.Outputs) {
			found = append(found, Difference{"the manifest of " + m.Name(), 1, "is missing, or of another key or other files"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if outputs := there[name].Outputs; len(outputs) == 0 || of(outputs[0].Path) {
			found = append(found, Difference{"the manifest of " + name, 1, "should not be there"})
		}
	}
	return found, nil
}

// own are the names at the top of an output folder that are no results: the
// program's own files, what it has put aside, and the page and the table that also
// tell when and where units ran.
var own = []string{"manifests", "scratch", "superseded", "logs", "slurm", ".lock", "report.html", "runs.parquet"}

// Results lists the files of an output folder that must be the same bytes in every
// run of an experiment: all but the program's own, report.html, runs.parquet and
// what was moved aside. They are slash-separated and sorted.
func Results(out string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(out, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if slices.Contains(own, name) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.IsDir() && !strings.Contains(name, ".edited-") {
			all = append(all, name)
		}
		return nil
	})
	return all, err
}

// compareParts says how two parts differ; "" if they do not.
func compareParts(want, got string) (string, error) {
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
