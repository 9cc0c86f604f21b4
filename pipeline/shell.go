package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/term"

	"speceval/internal/machine/process"
	"speceval/internal/machine/version"
	"speceval/internal/terminal/display"
	"speceval/pipeline/dag"
	"speceval/pipeline/experiment"
)

// build is the source of this program.
func (s *shell) build() version.Build {
	return version.Build{
		Version: version.Tag, Commit: s.origin.Commit, Changed: s.origin.Dirty, Date: s.date,
		Go: s.origin.GoVersion, System: runtime.GOOS, Machine: runtime.GOARCH,
	}
}

// shell is everything of the world outside that commands touch. It is made
// once, by main; tests make their own.
type shell struct {
	stdin          io.Reader
	stdout, stderr io.Writer // nothing that is written there does anything to a terminal: see run
	bars           io.Writer // the terminal itself, for progress bars; nil: stderr
	terminal       bool      // stderr is one that can show progress bars
	columns, width int       // of stderr and of stdout; 0 for what is no terminal
	now            func() time.Time
	pid            int
	origin         dag.Origin // of this program and command line
	date           string     // of the commit that it was built from
	environment    []string
	interrupts     <-chan os.Signal
	release        func() // gives interrupts back their usual effect
}

// Set by the linker, see the Makefile; empty when built in another way.
var linkedCommit, linkedDirty, linkedDate string

// newShell is the process's own shell, which gets its signals by a relay.
func newShell(args []string, signals chan os.Signal, relay *process.Relay) *shell {
	columns, _, _ := term.GetSize(int(os.Stderr.Fd())) // 0 for what is no terminal
	width, _, _ := term.GetSize(int(os.Stdout.Fd()))
	s := &shell{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		terminal: term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb",
		columns:  columns, width: width,
		now: time.Now, pid: os.Getpid(), environment: os.Environ(),
		interrupts: relay.Signals, release: func() { signal.Stop(signals) },
	}
	s.origin.GoVersion = runtime.Version()
	s.origin.Command = display.WithoutCredentials(strings.Join(append([]string{filepath.Base(args[0])}, args[1:]...), " "))
	s.origin.Commit, s.origin.Dirty, s.date = revision()
	var err error
	if s.origin.Host, err = os.Hostname(); err != nil {
		s.origin.Host = "unknown"
	}
	return s
}

// revision is the git commit that the program was built from, whether there were
// uncommitted changes, and the day of the commit.
func revision() (commit string, dirty bool, date string) {
	if linkedCommit != "" {
		return linkedCommit, linkedDirty == "true", linkedDate
	}
	commit = "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				commit = s.Value
			case "vcs.modified":
				dirty = s.Value == "true"
			case "vcs.time": // 2026-11-23T11:19:08Z
				date, _, _ = strings.Cut(s.Value, "T")
			}
		}
	}
	return commit, dirty, date
}

// onInterrupts answers each of the next interrupts by a function, until done is closed.
func (s *shell) onInterrupts(done <-chan struct{}, answers ...func()) {
	go func() {
		for _, answer := range answers {
			select {
			case <-s.interrupts:
				answer()
			case <-done:
				return
			}
		}
	}()
}

// interruptible is a context that the first interrupt cancels; another one ends the process at
// once. stop ends the watch. Commands with nothing to end or to store need none: where nothing
// watches, an interrupt ends the process.
func (s *shell) interruptible() (ctx context.Context, stop func()) {
	ctx, stop = context.WithCancel(context.Background())
	s.onInterrupts(ctx.Done(), stop)
	return ctx, stop
}

// draining are the answers of what waits for "the units" or "the requests" in flight.
func draining(what string) (first, second string) {
	return "stopping when " + what + " in flight are done; interrupt again to stop them", "stopping " + what + " in flight"
}

// drainable is a context for runs, and what interrupts are answered: the first closes
// drain, so that what is in flight may finish; the second cancels the context; a third
// has its usual effect and ends the process. stop ends the watch.
func (s *shell) drainable(first, second string) (ctx context.Context, drain <-chan struct{}, stop func()) {
	ctx, stop = context.WithCancel(context.Background())
	drained := make(chan struct{})
	say := func(text string) {
		if s.terminal {
			fmt.Fprintln(s.stderr) // below the progress bar
		}
		fmt.Fprintln(s.stderr, "speceval:", text)
	}
	s.onInterrupts(ctx.Done(), func() { say(first); close(drained) }, func() { say(second); s.release(); stop() })
	return ctx, drained, stop
}

// variable is the value of an environment variable, "" if it is not set.
func (s *shell) variable(name string) string { return experiment.Variable(s.environment, name) }
