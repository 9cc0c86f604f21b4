package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"speceval/drills/lab"
)

// struck is a run under way that a fault strikes.
type struck struct {
	*lab.Process
	out     string
	stage   string // that is to be hit; "" for any
	moments *lab.Moments
}

// disturb runs the experiment, strikes at random moments until there were enough hits,
// and lets a last run finish. Units that were done before there were enough hits are
// made again.
func (s *site) disturb(ctx context.Context, f fault, t *trial) error {
	if f.needs != nil {
		if err := f.needs(s); err != nil {
			return err
		}
	}
	name := strings.ReplaceAll(f.name, " ", "-")
	out, err := s.Path(name), error(nil)
	switch {
	case f.anew != nil:
		out, err = s.copied(name, f.anew...)
	case s.Small && s.cluster != nil: // rollouts and scores take most of the time
		out, err = s.copied(name, "replay", "systems", "report")
	}
	if err != nil {
		return err
	}
	stages := f.stages
	if stages == nil {
		stages = []string{""}
	}
	moments := s.Moments(f.name)
	for _, stage := range stages {
		hits, err := s.hit(ctx, f, out, stage, moments)
		if err != nil {
			return fmt.Errorf("%s: %w", stage, err)
		}
		t.injured("%s", strings.TrimSpace(fmt.Sprintf("%s %d", stage, hits)))
	}
	return s.finish(ctx, t, out)
}

// hit runs all up to a stage over and over until the fault has hit it often enough.
func (s *site) hit(ctx context.Context, f fault, out, stage string, moments *lab.Moments) (hits int, err error) {
	wanted := s.Often(f.hits[0], f.hits[1])
	again, words := "replay", s.run(append([]string{"executor.element_minutes=0.05", "executor.retries=50"}, f.keys...)...)
	if stage != "" {
		again, words = stage, []string{"run", "--until", stage}
	}
	for tries := 0; tries < 10*(1+wanted); tries++ {
		if tries > 0 || stage != "" {
			if left, err := s.left(out, again); err != nil {
				return hits, err
			} else if left == 0 {
				if err := lab.Forget(out, again); err != nil {
					return hits, err
				}
			}
		}
		p, err := s.start(out, words...)
		if err != nil {
			return hits, err
		}
		more, err := s.strike(ctx, f, &struck{p, out, stage, moments}, wanted-hits)
		p.Kill()
		hits += more
		switch code := p.Code(); {
		case err != nil:
			return hits, err
		case code > 0 && !(f.fails && code == 1):
			return hits, fmt.Errorf("exit code %d:\n%s", code, p.Last())
		case f.says != "":
			n := strings.Count(p.Text(), f.says)
			if hits < wanted || n == 0 {
				return hits, fmt.Errorf("%d hits, and %d units that %s:\n%s", hits, n, f.says, p.Last())
			}
			return n, nil
		case hits >= wanted:
			return hits, nil
		}
	}
	return hits, fmt.Errorf("%d hits, want %d", hits, wanted)
}

// strike strikes at random moments while a run lasts, and waits for its end.
func (s *site) strike(ctx context.Context, f fault, r *struck, wanted int) (hits int, err error) {
	for hits < wanted && !r.Gone() {
		within := f.within
		if within == 0 {
			if within, err = s.span(ctx, r); err != nil {
				return hits, err
			}
		}
		select {
		case <-r.Ended():
			return hits, nil
		case <-ctx.Done():
			return hits, ctx.Err()
		case <-time.After(r.moments.Within(within)):
		}
		hit, err := f.strike(s, ctx, r)
		if err != nil {
			return hits, err
		}
		if hit {
			hits++
		}
	}
	return hits, r.Wait(ctx)
}

// span waits until a run has nothing more to do before its stage, and returns about how
// long the rest of the stage takes.
func (s *site) span(ctx context.Context, r *struck) (time.Duration, error) {
	earlier := lab.Stages[:slices.Index(lab.Stages, r.stage)]
	err := r.Until(ctx, func() (bool, error) {
		if !strings.Contains("\n"+r.Text(), "\n"+r.stage+": ") {
			return false, nil // the run prints it right before the first unit
		}
		for _, stage := range earlier {
			if left, err := s.left(r.out, stage); err != nil || left > 0 {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	all, err := lab.Units(s.undisturbed(), r.stage)
	if err != nil {
		return 0, err
	}
	seconds := 0.0
	for _, m := range all {
		seconds += m.WallSeconds
	}
	left, err := s.left(r.out, r.stage)
	return time.Duration(seconds / 2 * float64(left) / float64(len(all)) * float64(time.Second)), err // two units at a time
}

// killRun kills the run itself. A hit of a stage leaves units of it to run.
func (s *site) killRun(_ context.Context, r *struck) (bool, error) {
	r.Kill()
	if r.stage == "" || r.Code() >= 0 {
		return r.Code() < 0, nil
	}
	left, err := s.left(r.out, r.stage)
	return left > 0, errors.Join(err, whole(r.out))
}

// killElement kills the process of an array element.
func (s *site) killElement(_ context.Context, r *struck) (bool, error) {
	return signalElement(r, syscall.SIGKILL)
}

// stopElement stops the process of an array element, which then runs out of time.
func (s *site) stopElement(_ context.Context, r *struck) (bool, error) {
	return signalElement(r, syscall.SIGSTOP)
}

func signalElement(r *struck, signal syscall.Signal) (bool, error) {
	pids, err := elementProcesses(r.out)
	if err != nil || len(pids) == 0 {
		return false, err
	}
	return syscall.Kill(pids[r.moments.Below(len(pids))], signal) == nil, nil
}

// elementProcesses are those of the elements of an output folder.
func elementProcesses(out string) ([]int, error) {
	return processesWith("\x00--element\x00" + filepath.Join(out, "slurm") + "/")
}

// processesWith are the processes whose command line has this text: words that end in
// zeros.
func processesWith(text string) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, file := range files {
		words, err := os.ReadFile(file) // it may have ended by now
		if err == nil && bytes.Contains(words, []byte(text)) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				return nil, err
			}
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// running are the elements that run.
func (s *site) running(ctx context.Context) ([]string, error) {
	text, err := s.slurm(ctx, "squeue", "--noheader", "--array", "--states=RUNNING", "--format=%F_%K")
	return strings.Fields(text), err
}

// requeue requeues an element that runs.
func (s *site) requeue(ctx context.Context, r *struck) (bool, error) {
	running, err := s.running(ctx)
	if err != nil || len(running) == 0 {
		return false, err
	}
	_, err = s.slurm(ctx, "scontrol", "requeue", running[r.moments.Below(len(running))])
	return err == nil, nil // it may have ended by now
}

// preempt submits jobs to which those of the partition spot give way.
func (s *site) preempt(ctx context.Context, _ *struck) (bool, error) {
	running, err := s.running(ctx)
	if err != nil || len(running) == 0 {
		return false, err
	}
	_, err = s.slurm(ctx, "sbatch", "--partition=urgent", "--array=0-1", "--exclusive", "--output=/dev/null", "--wrap=sleep 1")
	return err == nil, err
}

// killController kills the controller, and starts it again after a while.
func (s *site) killController(ctx context.Context, r *struck) (bool, error) {
	if err := s.cluster.KillController(ctx); err != nil {
		return false, err
	}
	err := lab.Wait(ctx, r.moments.Within(6*time.Second))
	return true, errors.Join(err, s.cluster.StartController(ctx))
}

// killNode kills a node with its jobs, and starts it again after a while.
func (s *site) killNode(ctx context.Context, r *struck) (bool, error) {
	running, err := s.running(ctx)
	if err != nil || len(running) == 0 {
		return false, err
	}
	node := fmt.Sprintf("n%d", 1+r.moments.Below(2))
	if err := s.cluster.KillNode(ctx, node); err != nil {
		return false, err
	}
	err = lab.Wait(ctx, r.moments.Within(40*time.Second))
	return true, errors.Join(err, s.cluster.StartNode(ctx, node))
}

// cancel cancels an element: the run fails and reports it, and the next one resumes.
func (s *site) cancel(ctx context.Context, r *struck) (bool, error) {
	running, err := s.running(ctx)
	if err != nil || len(running) == 0 {
		return false, err
	}
	if _, err := s.slurm(ctx, "scancel", running[r.moments.Below(len(running))]); err != nil {
		return false, nil // it has ended by now
	}
	if err := r.Wait(ctx); err != nil || r.Code() == 0 { // 0: the element was about to end
		return false, err
	}
	return true, says(r.Process, 1, "was cancelled")
}

// limitsMemory is why units cannot run out of memory here.
func (s *site) limitsMemory() error {
	if _, err := os.Stat(s.Path("c", "cgroup.conf")); err != nil {
		return skipped("the kernel of this machine limits no memory of jobs")
	}
	return nil
}
