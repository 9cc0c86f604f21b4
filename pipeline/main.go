// Command speceval runs the experiment of experiments.toml as a pipeline of
// stages: it plans what is stale, runs it, writes the tables, and compares
// them with the paper. `speceval help` lists its commands.
//
// Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failed,
// 2 usage or configuration, 3 stale, 4 outside tolerance, 130 interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"speceval/internal/evaluation"
	"speceval/internal/machine/process"
	"speceval/pipeline/dag"
	"speceval/pipeline/evaluate"
	"speceval/pipeline/experiment"
	"speceval/pipeline/slurm"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	relay := process.NewRelay(signals)
	os.Exit(relay.Run(func() int {
		return run(os.Args[1:], newShell(os.Args, signals, relay), experiment.Load)
	}, func() int { // files are written whole or not at all
		fmt.Fprintln(os.Stderr, "speceval: interrupted, and ended at once; what was stored stays")
		return exitInterrupted
	}))
}

// The exit codes of speceval.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // usage or configuration
	exitStale       = 3 // status --check
	exitOutside     = 4 // verify, compare, evaluate gate: outside tolerance
	exitInterrupted = 130
)

// exitError is an error with an exit code of its own.
type exitError struct {
	error
	code int
}

func (e *exitError) Unwrap() error { return e.error }

// usage makes an error one of the command line or the configuration.
func usage(err error) error { return &exitError{err, exitUsage} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// errOutside is the outcome of verify when a number differs from the paper's, of compare
// when a profile does, and of a gate that does not pass.
var errOutside = &exitError{errors.New("outside tolerance"), exitOutside}

// exitCode is the process's exit code for the outcome of a command.
func exitCode(err error) int {
	var own *exitError
	var request *evaluate.RequestError
	var stage *dag.UnknownStageError
	var jobs *slurm.RefusedError
	var run *dag.Error
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &run) && !run.Interrupted: // whatever its units failed of
	case run != nil, errors.Is(err, context.Canceled), errors.Is(err, evaluation.ErrStopped):
		return exitInterrupted
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &request), errors.As(err, &stage), errors.As(err, &jobs):
		return exitUsage
	}
	return exitFailed
}
