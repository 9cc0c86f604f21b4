package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	undisturbed "speceval/drills/lab"
)

// disturbance is how runs are disturbed.
type disturbance struct {
	name   string   // of the output folder
	keys   []string // of the configuration
	wanted int      // hits
	within time.Duration
	fails  bool // the run itself may fail of it, and is to be run again
	strike func(ctx context.Context, c *command, out string) (hit bool, err error)
}

// disturb runs the experiment through Slurm, strikes at random moments until there
// were enough hits, and lets the last run end. A run that was done too early loses
// its replay, and goes on.
func (f *field) disturb(ctx context.Context, t *trial, d disturbance) error {
	out, err := f.begun(d.name)
	if err != nil {
		return err
	}
	moments := undisturbed.NewMoments(f.seed, d.name)
	hits := 0
	for tries := 0; ; tries++ {
		if tries == 10+3*d.wanted {
			return fmt.Errorf("%d runs, and %d hits, want %d", tries, hits, d.wanted)
		}
		c, err := f.start(f.words("run", out, throughSlurm(append([]string{"executor.element_minutes=0.05", "executor.retries=50"}, d.keys...)...)...)...)
		if err != nil {
			return err
		}
		more, err := f.strikes(ctx, c, d, out, moments, d.wanted-hits)
		c.Kill()
		if hits += more; err != nil {
			return err
		}
		switch code := c.Code(); {
		case code == 0 && hits >= d.wanted:
			t.injured("%d", hits)
			return f.judge(ctx, t, out)
		case code == 0:
			if err := undisturbed.Forget(out, "replay"); err != nil {
				return err
			}
		case code > 0 && !(d.fails && code == 1):
			return fmt.Errorf("exit code %d:\n%s", code, c.Last())
		}
	}
}

// strikes strikes at random moments while a run goes on, and waits for its end.
func (f *field) strikes(ctx context.Context, c *command, d disturbance, out string, moments *undisturbed.Moments, wanted int) (hits int, err error) {
	for hits < wanted {
		select {
		case <-c.Ended():
			return hits, nil
		case <-ctx.Done():
			return hits, ctx.Err()
		case <-time.After(moments.Within(d.within)):
		}
		if c.Gone() {
			break
		}
		hit, err := d.strike(ctx, c, out)
		if err != nil {
			return hits, err
		}
		if hit {
			hits++
		}
	}
	return hits, c.Wait(ctx)
}

// often is how often something is done that is done over and over.
func (l *lab) often(small, full int) int {
	if l.small {
		return small
	}
	return full
}

// elements kills processes of array elements.
func (f *field) elements(ctx context.Context, t *trial) error {
	moments := undisturbed.NewMoments(f.seed, "which")
	return f.disturb(ctx, t, disturbance{"elements", nil, f.often(3, 40), time.Second, true,
		func(ctx context.Context, _ *command, out string) (bool, error) {
			pids, err := processes(out)
			if err != nil || len(pids) == 0 {
				return false, err
			}
			return syscall.Kill(pids[moments.Below(len(pids))], syscall.SIGKILL) == nil, nil
		}})
}

// processes are those of the elements of an output folder.
func processes(out string) ([]int, error) {
	sign := []byte("\x00--element\x00" + filepath.Join(out, "slurm") + "/")
	return found(func(words []byte) bool { return bytes.Contains(words, sign) })
}

// found are the processes whose command line is wanted: words that end in zeros.
func found(wanted func(words []byte) bool) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, file := range files {
		text, err := os.ReadFile(file) // it may have ended by now
		if err == nil && wanted(text) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				return nil, err
			}
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// coordinators kills the run itself.
func (f *field) coordinators(ctx context.Context, t *trial) error {
	return f.disturb(ctx, t, disturbance{"coordinators", nil, f.often(3, 25), 6 * time.Second, false,
		func(_ context.Context, c *command, _ string) (bool, error) {
			c.Kill()
			return c.Code() < 0, nil
		}})
}

// requeues has elements requeued that run.
func (f *field) requeues(ctx context.Context, t *trial) error {
	moments := undisturbed.NewMoments(f.seed, "which")
	return f.disturb(ctx, t, disturbance{"requeues", nil, f.often(2, 10), 3 * time.Second, false,
		func(ctx context.Context, _ *command, _ string) (bool, error) {
			running, err := f.running(ctx)
			if err != nil || len(running) == 0 {
				return false, err
			}
			_, err = f.slurm(ctx, "scontrol", "requeue", running[moments.Below(len(running))])
			return err == nil, nil // it may have ended by now
		}})
}

// running are the elements that run.
func (l *lab) running(ctx context.Context) ([]string, error) {
	text, err := l.slurm(ctx, "squeue", "--noheader", "--array", "--states=RUNNING", "--format=%F_%K")
	return strings.Fields(text), err
}

// preemptions has the jobs of a partition give way to those of another.
func (f *field) preemptions(ctx context.Context, t *trial) error {
	return f.disturb(ctx, t, disturbance{"preemptions", []string{"executor.partition=spot"}, f.often(2, 8), 4 * time.Second, false,
		func(ctx context.Context, _ *command, _ string) (bool, error) {
			running, err := f.running(ctx)
			if err != nil || len(running) == 0 {
				return false, err
			}
			_, err = f.slurm(ctx, "sbatch", "--partition=urgent", "--array=0-1", "--exclusive", "--output=/dev/null", "--wrap=sleep 1")
			return err == nil, err
		}})
}

// controllers kills the controller, and starts it again after a while.
func (f *field) controllers(ctx context.Context, t *trial) error {
	moments := undisturbed.NewMoments(f.seed, "how long")
	return f.disturb(ctx, t, disturbance{"controllers", nil, f.often(1, 6), 4 * time.Second, false,
		func(ctx context.Context, _ *command, _ string) (bool, error) {
			if err := f.cluster.KillController(ctx); err != nil {
				return false, err
			}
			err := wait(ctx, moments.Within(6*time.Second))
			return true, errors.Join(err, f.cluster.StartController(ctx))
		}})
}

// nodes kills nodes with what runs there.
func (f *field) nodes(ctx context.Context, t *trial) error {
	moments := undisturbed.NewMoments(f.seed, "which")
	return f.disturb(ctx, t, disturbance{"nodes", nil, f.often(1, 3), 4 * time.Second, false,
		func(ctx context.Context, _ *command, _ string) (bool, error) {
			running, err := f.running(ctx)
			if err != nil || len(running) == 0 {
				return false, err
			}
			node := fmt.Sprintf("n%d", 1+moments.Below(2))
			if err := f.cluster.KillNode(ctx, node); err != nil {
				return false, err
			}
			err = wait(ctx, moments.Within(40*time.Second))
			return true, errors.Join(err, f.cluster.StartNode(ctx, node))
		}})
}

// cancels has somebody cancel elements: the run fails and says so, and the next one
// goes on.
func (f *field) cancels(ctx context.Context, t *trial) error {
	moments := undisturbed.NewMoments(f.seed, "which")
	return f.disturb(ctx, t, disturbance{"cancels", nil, f.often(1, 4), time.Second, true,
		func(ctx context.Context, c *command, _ string) (bool, error) {
			running, err := f.running(ctx)
			if err != nil || len(running) == 0 {
				return false, err
			}
			if _, err := f.slurm(ctx, "scancel", running[moments.Below(len(running))]); err != nil {
				return false, nil // it has ended by now
			}
			if err := c.Wait(ctx); err != nil {
				return false, err
			}
			if c.Code() == 0 {
				return false, nil // it was at its very end
			}
			if text := c.Last(); c.Code() != 1 || !strings.Contains(text, "was cancelled") {
				return false, fmt.Errorf("exit code %d, and not a word of what was cancelled:\n%s", c.Code(), text)
			}
			return true, nil
		}})
}
