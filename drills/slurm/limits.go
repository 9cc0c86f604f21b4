package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"syscall"
	"time"

	undisturbed "speceval/drills/lab"
)

// memory has units run out of memory, which are tried again with more.
func (f *field) memory(ctx context.Context, t *trial) error {
	if _, err := os.Stat(f.path("c/cgroup.conf")); err != nil {
		t.skipped = "the kernel of this machine limits no memory of jobs"
		return nil
	}
	return f.retried(ctx, t, "memory", "executor.replay.memory_mib=8", regexp.MustCompile(`ran out of memory`), nil)
}

// time has a unit run out of time, which is tried again with more: its process is
// stopped when it has begun.
func (f *field) time(ctx context.Context, t *trial) error {
	stopped := 0
	stop := func(out string) error {
		pids, err := processes(out)
		if err != nil || len(pids) == 0 || stopped > 0 {
			return err
		}
		if syscall.Kill(pids[0], syscall.SIGSTOP) == nil {
			stopped++
		}
		return nil
	}
	return f.retried(ctx, t, "time", "executor.replay.minutes=1", regexp.MustCompile(`ran out of time`), stop)
}

// retried runs replay anew with too little of something. The run says what elements
// ran out of, and is done all the same.
func (f *field) retried(ctx context.Context, t *trial, name, key string, says *regexp.Regexp, meanwhile func(out string) error) error {
	out := f.path(name)
	if err := undisturbed.CopyOutputs(f.undisturbed(), out); err != nil {
		return err
	}
	if err := undisturbed.Forget(out, "replay"); err != nil {
		return err
	}
	c, err := f.start(f.words("run", out, throughSlurm("executor.element_minutes=0.05", "executor.retries=6", key)...)...)
	if err != nil {
		return err
	}
	defer c.Kill()
	for !c.Gone() {
		if meanwhile != nil {
			if err := meanwhile(out); err != nil {
				return err
			}
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	n := len(says.FindAllString(c.text(), -1))
	t.injured("%d units that %s", n, says)
	if c.Code() != 0 || n == 0 {
		return fmt.Errorf("exit code %d, %d units that %s:\n%s", c.Code(), n, says, c.Last())
	}
	return f.judge(ctx, t, out)
}
