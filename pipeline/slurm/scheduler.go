package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// scheduler submits, polls and cancels jobs in the words of one cluster. What a cluster
// says is taken as said: a state may be late, missing, or gone from its memory.
type scheduler interface {
	// check asks whether the jobs of a stage would be taken, and submits nothing. It
	// returns a *RefusedError that names keys of the configuration if they would not.
	check(ctx context.Context, stage string, r Resources) (allowed, error)
	// submit hands a batch in and records its job and target.
	submit(ctx context.Context, b *Batch, dir string, r Resources, throttle int) (outcome, error)
	// elements returns how elements of arrays stand; others may be among the answers, and the
	// first of two counts. One that the cluster does not remember is left out.
	elements(ctx context.Context, arrays []*array) ([]Element, error)
	// find returns the id of a batch's job; empty if there is none.
	find(ctx context.Context, b *Batch) (job string, err error)
	// cancel cancels jobs, or elements of them, of a title: an id may have come back as
	// another user's.
	cancel(ctx context.Context, title string, names ...string) error
}

// allowed are a cluster's limits for the jobs of a stage.
type allowed struct {
	elements int // of an array at most
	minutes  int // of an element at most; 0: no limit
}

// RefusedError says what of the configuration the cluster refuses.
type RefusedError struct{ error }

func (e *RefusedError) Unwrap() error { return e.error }

// outcome is the outcome of an attempt to submit that has an error.
type outcome int

const (
	refused outcome = iota // there is no job, and another attempt would not make one
	full                   // there is no job, and there may be room later
	unknown                // the answer is lost: there may be a job, see scheduler.find
	failed                 // the command failed: full if it has worked before, and else as an attempt at the units
)

// Command runs a program and returns what it wrote to its standard output. Its error
// quotes what it wrote to the other one.
type Command func(ctx context.Context, program string, arguments ...string) (stdout string, err error)

// Run is a Command that runs installed programs in an environment, and ends one with its
// children when it has not ended after a time. Variables that would have Slurm's programs
// wait or leave jobs out are not passed on.
func Run(environment []string, limit time.Duration) Command {
	var passed []string
	for _, v := range environment {
		if !strings.HasPrefix(v, "SQUEUE_") && !strings.HasPrefix(v, "SCANCEL_") && !strings.HasPrefix(v, "SBATCH_WAIT=") {
			passed = append(passed, v)
		}
	}
	return func(ctx context.Context, program string, arguments ...string) (string, error) {
		ctx, stop := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not ended after %v", limit))
		defer stop()
		c := exec.CommandContext(ctx, program, arguments...)
		var stdout, stderr bytes.Buffer
		c.Env, c.Stdout, c.Stderr = passed, &stdout, &stderr
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
		c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
		c.WaitDelay = time.Second // for what it leaves behind and holds its output
		err := c.Run()
		switch {
		case err == nil || errors.Is(err, exec.ErrWaitDelay):
			return stdout.String(), nil
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		}
		if text := strings.TrimSpace(stderr.String()); text != "" {
			return "", fmt.Errorf("%s: %w: %s", program, err, text)
		}
		return "", fmt.Errorf("%s: %w", program, err)
	}
}

// lastLine is the last line of a text, without space around it. Sites print
// greetings before it.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
