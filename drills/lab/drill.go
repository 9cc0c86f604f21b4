// Package lab is what the drills share: how a drill begins and ends, its flags, its
// folder, the programs, servers and clusters it starts, a small experiment, the
// comparison of two runs byte for byte, and the table of checks.
package lab

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Drill is a drill of the program: bin/drill NAME [flags].
type Drill struct {
	Name  string        // in the last line: drill-faults; the command is faults
	About string        // one line
	Limit time.Duration // default of -limit, after which the drill gives up

	// Shared are the shared flags that the drill has: speceval, dir, small, seed.
	Shared []string

	// Flags declares the drill's own flags, and returns the drill itself, which runs
	// once all flags are parsed.
	Flags func(flags *flag.FlagSet) func(ctx context.Context, l *Lab) error
}

// Lab is where a drill happens.
type Lab struct {
	Dir         string    // of all files; "" for a drill without the flag -dir
	Program     string    // the built program that is tried (-speceval)
	Small       bool      // a short version of the drill (-small)
	Seed        uint64    // of what is drawn (-seed)
	Stdout      io.Writer // for people; the last line says how the drill ended
	Strict      bool      // SPECEVAL_CI=1: a check that cannot be made here is a failure
	Python      string    // SPECEVAL_PYTHON, or python3
	Environment []string  // of the programs that are started; nil: that of the drill
	Commands    int       // of the program, started so far
}

// Command is the word after bin/drill.
func (d Drill) Command() string { return strings.TrimPrefix(d.Name, "drill-") }

// Main runs the drill with the flags of a command line, and returns the exit code: 0
// if it passed, 1 if it failed, 2 for wrong flags.
func (d Drill) Main(args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	l := &Lab{Stdout: stdout, Strict: getenv("SPECEVAL_CI") == "1", Python: getenv("SPECEVAL_PYTHON")}
	if l.Python == "" {
		l.Python = "python3"
	}
	flags := flag.NewFlagSet(d.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	limit := flags.Duration("limit", d.Limit, "time after which the drill gives up")
	shared := map[string]func(){
		"speceval": func() { flags.StringVar(&l.Program, "speceval", "bin/speceval", "the program to try") },
		"dir": func() {
			flags.StringVar(&l.Dir, "dir", "", "new folder for everything, kept afterwards; empty: a temporary one, kept after a failure")
		},
		"small": func() { flags.BoolVar(&l.Small, "small", false, "a short version: smaller and fewer experiments") },
		"seed":  func() { flags.Uint64Var(&l.Seed, "seed", 1, "of what is drawn") },
	}
	for _, name := range d.Shared {
		shared[name]()
	}
	do := d.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return Run(d.Name, *limit, stdout, func(ctx context.Context) error {
		var err error
		if l.Program != "" {
			if l.Program, err = filepath.Abs(l.Program); err != nil {
				return err
			}
		}
		if !slices.Contains(d.Shared, "dir") {
			return do(ctx, l)
		}
		return InFolder(l.Dir, stdout, func(dir string) (err error) {
			if l.Dir, err = filepath.Abs(dir); err != nil {
				return err
			}
			return do(ctx, l)
		})
	})
}

// Run does a drill until it ends, until its time is over or until it is
// interrupted. The last line that it prints says whether the drill has passed,
// and so does the exit code that it returns.
func Run(name string, limit time.Duration, stdout io.Writer, do func(ctx context.Context) error) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit))
	defer cancel()
	start := time.Now()
	if err := do(ctx); err != nil {
		fmt.Fprintf(stdout, "%v\n%s: failed\n", errors.Join(context.Cause(ctx), err), name)
		return 1
	}
	fmt.Fprintf(stdout, "it took %v\n%s: passed\n", time.Since(start).Round(time.Second), name)
	return 0
}

// InFolder does what needs a folder of its own: a new one, dir, or with "" a
// temporary one, which is kept only after a failure.
func InFolder(dir string, stdout io.Writer, do func(dir string) error) (err error) {
	if dir != "" {
		if err := os.Mkdir(dir, 0o777); err != nil {
			return err
		}
		return do(dir)
	}
	if dir, err = os.MkdirTemp("", "speceval-drill-"); err != nil {
		return err
	}
	if err := do(dir); err != nil {
		fmt.Fprintf(stdout, "the files are in %s\n", dir)
		return err
	}
	return os.RemoveAll(dir)
}

// Path is a file or folder of the lab.
func (l *Lab) Path(parts ...string) string {
	return filepath.Join(append([]string{l.Dir}, parts...)...)
}

// Printf prints a line.
func (l *Lab) Printf(format string, args ...any) { fmt.Fprintf(l.Stdout, format+"\n", args...) }

// Often is how often something is done, in the short version and in the long one.
func (l *Lab) Often(small, full int) int {
	if l.Small {
		return small
	}
	return full
}

// Wait waits, unless ctx is done first.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
