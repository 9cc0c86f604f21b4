// Package drill helps tests that try the built program on servers, clusters and files of
// their own: they are behind the tag drill, and make drill-NAME runs one with its flags.
package drill

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/internal/policy/seed"
)

// Flags that all drills have.
var (
	program = flag.String("speceval", "bin/speceval", "the program to try")
	dir     = flag.String("dir", "", "new folder for everything, kept afterwards; empty: a temporary one, kept after a failure")
	small   = flag.Bool("small", false, "a short version: smaller and fewer experiments")
	number  = flag.Uint64("seed", 1, "of what is drawn")
	limit   = flag.Duration("limit", 0, "time after which the drill gives up; 0: its own")
)

// Lab is a test, with the folder and the program that it is made with.
type Lab struct {
	*testing.T
	Ctx         context.Context // done when time is up, or at an interrupt
	Dir         string          // of all files
	Program     string          // that is tried
	Small       bool            // the short version
	Environment []string        // of the started programs; nil: the drill's own

	started *int // commands of the program
}

// New begins a drill that is given up after a while. It is in the folder of the
// repository, as make is, so that commands and paths of a configuration are found.
func New(t *testing.T, most time.Duration) *Lab {
	t.Chdir(Root())
	if *limit > 0 {
		most = *limit
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("not done after %v", most))
	t.Cleanup(func() { cancel(); stop() })
	l := &Lab{T: t, Ctx: ctx, Dir: *dir, Program: FromRoot(*program), Small: *small, started: new(int)}
	if l.Dir != "" {
		l.Dir = FromRoot(l.Dir)
		l.OK(os.Mkdir(l.Dir, 0o777))
		return l
	}
	var err error
	l.Dir, err = os.MkdirTemp("", "speceval-drill-")
	l.OK(err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the files are in %s", l.Dir)
			return
		}
		os.RemoveAll(l.Dir)
	})
	return l
}

// Strict reports whether a check that cannot be made here is a failure (SPECEVAL_CI=1).
func Strict() bool { return os.Getenv("SPECEVAL_CI") == "1" }

// Python is the interpreter for what a drill has in Python.
func Python() string {
	if p := os.Getenv("SPECEVAL_PYTHON"); p != "" {
		return p
	}
	return "python3"
}

// Root is the folder of the repository.
func Root() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	panic(err)
}

// FromRoot is a path that is relative to the folder of the repository, or absolute.
func FromRoot(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(Root(), path)
}

// Sub is a part of the drill, a subtest in the same folder. What it begins ends with it.
func (l *Lab) Sub(name string, do func(l *Lab)) bool {
	return l.Run(name, func(t *testing.T) {
		part := *l
		part.T = t
		do(&part)
	})
}

// Missing skips what cannot be made here, or fails where nothing may be skipped.
func (l *Lab) Missing(format string, args ...any) {
	l.Helper()
	if Strict() {
		l.Fatalf(format, args...)
	}
	l.Skipf(format, args...)
}

// Must ends the drill at an error.
func Must[V any](l *Lab, v V, err error) V {
	l.Helper()
	l.OK(err)
	return v
}

// OK ends the drill at the first of some errors.
func (l *Lab) OK(all ...error) {
	l.Helper()
	if err := errors.Join(all...); err != nil {
		l.Fatal(errors.Join(context.Cause(l.Ctx), err))
	}
}

// Path is a file or folder of the lab.
func (l *Lab) Path(parts ...string) string {
	return filepath.Join(append([]string{l.Dir}, parts...)...)
}

// Often is how often something is done, in the short version and in the long one.
func (l *Lab) Often(small, full int) int {
	if l.Small {
		return small
	}
	return full
}

// Wait waits.
func (l *Lab) Wait(d time.Duration) {
	l.Helper()
	select {
	case <-l.Ctx.Done():
		l.OK(l.Ctx.Err())
	case <-time.After(d):
	}
}

// pollEvery is how often Until polls.
const pollEvery = 5 * time.Millisecond

// Until waits for something to happen.
func (l *Lab) Until(what string, happens func() bool) {
	l.Helper()
	for !happens() {
		select {
		case <-l.Ctx.Done():
			l.Fatalf("%s: %v", what, context.Cause(l.Ctx))
		case <-time.After(pollEvery):
		}
	}
}

// Write writes a file, and makes the folders that it needs.
func (l *Lab) Write(path string, text []byte) {
	l.Helper()
	l.OK(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, text, 0o666))
}

// Read is the content of a file.
func (l *Lab) Read(path string) []byte {
	l.Helper()
	text, err := os.ReadFile(path)
	return Must(l, text, err)
}

// Walk lists the files of a folder; a folder that is not there has none.
func (l *Lab) Walk(folder string) (paths []string) {
	l.Helper()
	l.OK(filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile, or never there
		}
		if err == nil && !entry.IsDir() {
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

// Table prints rows as a table in Markdown. A column whose name ends in a colon is
// aligned to the right.
func Table(columns []string, rows [][]any) {
	names, rule := "|", "|"
	for _, column := range columns {
		name, right := strings.CutSuffix(column, ":")
		names += " " + name + " |"
		if rule += "---"; right {
			rule += ":"
		}
		rule += "|"
	}
	fmt.Fprintf(os.Stdout, "\n%s\n%s\n", names, rule)
	for _, row := range rows {
		fmt.Fprintf(os.Stdout, "|"+strings.Repeat(" %v |", len(row))+"\n", row...)
	}
	fmt.Fprintln(os.Stdout)
}

// Moments draws when a fault strikes a run, and which of its files, from a seed.
type Moments struct{ stream seed.Stream }

// NewMoments are the moments of a fault.
func NewMoments(fault string) *Moments {
	return &Moments{seed.Root(*number).Child("drills").Child(fault).Stream()}
}

// Seed is the flag -seed.
func Seed() uint64 { return *number }

// Within is a random moment of a time span.
func (m *Moments) Within(span time.Duration) time.Duration {
	return time.Duration(m.stream.Float64() * float64(span))
}

// Below is a random number from 0 to n-1.
func (m *Moments) Below(n int) int { return min(n-1, int(m.stream.Float64()*float64(n))) }

// Fraction is a random number from 0 to 1.
func (m *Moments) Fraction() float64 { return m.stream.Float64() }

// Wanted reports whether a part is in a flag's list with commas; "" has all.
func Wanted(parts, name string) bool {
	return parts == "" || slices.Contains(strings.Split(parts, ","), name)
}
