// Package code scores programs: it takes the program out of a response and runs
// it against the tests of its task, in a sandbox. The expected outputs stay
// outside.
package code

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"speceval/internal/scoring"
	"speceval/internal/scoring/sandbox"
)

// Version and GradedVersion name the rules of this package in scores and profiles: of
// scorers that want all tests passed, and of scorers that reward the share of passed tests.
const (
	Version       = "speceval_code_v1"
	GradedVersion = "speceval_code_graded_v1"
)

// Runner runs programs for scorers. It may be used concurrently.
type Runner struct {
	box   *sandbox.Sandbox
	cpu   time.Duration
	shelf shelf
}

// NewRunner tries the sandbox once. The error says what is missing and how to
// get it: without a sandbox nothing is ever run.
func NewRunner(ctx context.Context, s sandbox.Settings) (*Runner, error) {
	box, err := sandbox.New(ctx, s)
	if err != nil {
		return nil, err
	}
	return &Runner{box: box, cpu: s.CPU}, nil
}

// Scorer scores responses to one task.
type Scorer struct {
	runner *Runner
	load   func() ([]scoring.Test, error)
	kept   []scoring.Test // nil: not on the runner's shelf, whose lock guards it
	graded bool
}

// New is the scorer for a task whose tests are loaded when a program has to be
// run, and may be loaded again later. They must always be the same.
// A graded scorer runs all tests, whatever comes of them, and rewards the share
// that is passed.
func New(r *Runner, graded bool, load func() ([]scoring.Test, error)) *Scorer {
	return &Scorer{runner: r, load: load, graded: graded}
}

// Score runs the program of a response on one test after another, until one
// fails or, if it is graded, to the last. It is correct if none fails. The error is one of the
// sandbox, of the tests' source or of the context, never of the program.
func (s *Scorer) Score(ctx context.Context, r scoring.Response) (scoring.Verdict, error) {
	program, why := Extract(r.Text)
	if why != "" {
		return scoring.Verdict{Note: why}, nil
	}
	tests, err := s.tests(ctx)
	if err != nil {
		return scoring.Verdict{}, err
	}
	if len(tests) == 0 {
		return scoring.Verdict{}, errors.New("the task has no tests")
	}
	var inputs []string
	for _, test := range tests {
		inputs = append(inputs, test.Input)
	}
	session, err := s.runner.box.Start(ctx, sandbox.Program{Source: program, Function: tests[0].Function, Inputs: inputs})
	if err != nil {
		return scoring.Verdict{}, err
	}
	defer session.Close()
	passed, first := 0, "" // a fault, with its test
	for i, test := range tests {
		result, err := session.Run(ctx, i)
		if err != nil {
			return scoring.Verdict{}, fmt.Errorf("test %d: %w", i+1, err)
		}
		if fault := s.fault(test, result); fault == "" {
			passed++
		} else if first == "" {
			first = fmt.Sprintf("test %d: %s", i+1, fault)
		}
		if first != "" && !s.graded {
			break
		}
	}
	verdict := scoring.Verdict{Answer: scoring.Shorten(program), Note: scoring.Shorten(first)}
	switch {
	case first == "":
		verdict.Reward = 1
	case s.graded:
		verdict.Reward = float64(passed) / float64(len(tests))
		verdict.Note = scoring.Shorten(fmt.Sprintf("%d of %d tests passed; %s", passed, len(tests), first))
	}
	return verdict, nil
}

// address is where something happened to be in memory.
var address = regexp.MustCompile(`0x[0-9a-f]{6,}`)

// fault says why a test is not passed, "" if it is. It says the same of the same
// program every time.
func (s *Scorer) fault(test scoring.Test, r sandbox.Result) string {
	switch r.End {
	case sandbox.Finished:
		switch {
		case test.Kind == "stdin" && SameOutput(r.Output, test.Output):
		case test.Kind == "function" && SameValue(r.Output, test.Output):
		case test.Kind == "function" && r.Output == "":
			return "no result"
		case test.Kind == "function":
			return "wrong result"
		default:
			return "wrong output"
		}
		return ""
	case sandbox.Failed:
		return address.ReplaceAllString(r.Message, "0x…")
	case sandbox.TimeLimit:
		return fmt.Sprintf("time limit of %g s", s.runner.cpu.Seconds())
	case sandbox.MemoryLimit:
		return "memory limit"
	case sandbox.OutputLimit:
		return "output limit"
	case sandbox.FilesLimit:
		return "too many files"
	case sandbox.Crashed:
		return "crashed by signal " + r.Message
	case sandbox.Killed:
		return "killed"
	}
	return "broke the sandbox"
}
