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

// Compare lists the differences of the results in two output folders, byte for byte: of every
// file of [Lab.Results], and of keys, inputs and outputs in the manifests.
func (l *Lab) Compare(want, got string) []string {
	l.Helper()
	return l.compare(want, got, func(string) bool { return true })
}

// SameRollouts reports whether the parts of rollouts are the same bytes.
func (l *Lab) SameRollouts(want, got string) bool { return len(l.compare(want, got, isPart)) == 0 }

// CompareRollouts lists the differences of the parts of rollouts alone, by their rows, without
// the columns latency_seconds and server: two runs never agree on them, since no seed
// determines them.
func (l *Lab) CompareRollouts(want, got string) (found []string) {
	l.Helper()
	for _, name := range l.either(want, got, isPart) {
		if why := l.compareParts(filepath.Join(want, name), filepath.Join(got, name)); why != "" {
			found = append(found, name+" "+why)
		}
	}
	return found
}

func isPart(name string) bool { return strings.HasPrefix(name, "generate/") }

// either are the results in either of two output folders that are wanted, by name.
func (l *Lab) either(want, got string, wanted func(name string) bool) []string {
	l.Helper()
	all := slices.DeleteFunc(append(l.Results(want), l.Results(got)...), func(name string) bool { return !wanted(name) })
	slices.Sort(all)
	return slices.Compact(all)
}

func (l *Lab) compare(want, got string, wanted func(name string) bool) (found []string) {
	l.Helper()
	for _, name := range l.either(want, got, wanted) {
		a, errA := os.ReadFile(filepath.Join(want, name))
		b, errB := os.ReadFile(filepath.Join(got, name))
		if errors.Is(errors.Join(errA, errB), fs.ErrNotExist) {
			found = append(found, name+" is in one of the folders alone")
			continue
		}
		if l.OK(errA, errB); !bytes.Equal(a, b) {
			found = append(found, fmt.Sprintf("%s differs, %d bytes and %d", name, len(a), len(b)))
		}
	}
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
	names := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !reflect.DeepEqual(a[name], b[name]) {
			found = append(found, "the manifest of "+name+" is in one of the folders alone, or of another key or other files")
		}
	}
	return found
}

// own are the names at the top of an output folder that are no results: the
// program's own files, what it has put aside, and the page, which also shows when
// and where units ran.
var own = []string{"manifests", "scratch", "superseded", "logs", "slurm", ".lock", "report.html"}

// Results lists the files of an output folder that must be the same bytes in every
// run of an experiment, sorted: all but the program's own, report.html and what was moved
// aside.
func (l *Lab) Results(out string) (all []string) {
	l.Helper()
	for _, path := range l.Walk(out) {
		name, err := filepath.Rel(out, path)
		l.OK(err)
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(own, top) && !strings.Contains(name, ".edited-") {
			all = append(all, name)
		}
	}
	return all
}

// compareParts returns how two parts differ; "" if they do not.
func (l *Lab) compareParts(want, got string) string {
	l.Helper()
	a, footA, errA := rowfile.ReadFile[rollout.Rollout](want)
	b, footB, errB := rowfile.ReadFile[rollout.Rollout](got)
	if errors.Is(errors.Join(errA, errB), fs.ErrNotExist) {
		return "is in one of the folders alone"
	}
	l.OK(errA, errB)
	if !maps.Equal(footA, footB) || len(a) != len(b) {
		return fmt.Sprintf("has %d rollouts and says of itself %v, and should have %d and say %v", len(b), footB, len(a), footA)
	}
	for i := range a {
		for _, r := range []*rollout.Rollout{&a[i], &b[i]} { // the columns that its seed does not determine
			r.LatencySeconds, r.Server = 0, ""
		}
		if !reflect.DeepEqual(a[i], b[i]) {
			return fmt.Sprintf("has another %v of %s", b[i].ID(), b[i].TaskID)
		}
	}
	return ""
}
