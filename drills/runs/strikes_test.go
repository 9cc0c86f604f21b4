//go:build drill

package runs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"speceval/drills/drill"
)

// struck is a run under way that a fault strikes.
type struck struct {
	*drill.Process
	out     string
	stage   string // that is to be hit; "" for any
	moments *drill.Moments
}

// disturb runs the experiment, strikes at random moments until there were enough hits,
// and lets a last run finish. Units that were done before there were enough hits are
// made again.
func (s *site) disturb(f fault, t *trial) {
	name := strings.ReplaceAll(f.name, " ", "-")
	out := s.Path(name)
	switch {
	case f.anew != nil:
		out = s.copied(name, f.anew...)
	case s.Small && s.cluster != nil: // rollouts and scores take most of the time
		out = s.copied(name, "replay", "systems", "report")
	}
	stages := f.stages
	if stages == nil {
		stages = []string{""}
	}
	moments := drill.NewMoments(f.name)
	for _, stage := range stages {
		t.injured("%s", strings.TrimSpace(fmt.Sprintf("%s %d", stage, s.hit(f, out, stage, moments))))
	}
	s.finish(t, out)
}

// hit runs all up to a stage over and over until the fault has hit it often enough.
func (s *site) hit(f fault, out, stage string, moments *drill.Moments) (hits int) {
	wanted := s.Often(f.hits[0], f.hits[1])
	again, words := "replay", s.run(append([]string{"executor.element_minutes=0.05", "executor.retries=50"}, f.keys...)...)
	if stage != "" {
		again, words = stage, []string{"run", "--until", stage}
	}
	for tries := 0; tries < 10*(1+wanted); tries++ {
		if (tries > 0 || stage != "") && s.left(out, again) == 0 {
			s.Forget(out, again)
		}
		p := s.start(out, words...)
		hits += s.strikes(f, &struck{p, out, stage, moments}, wanted-hits)
		p.Kill()
		switch code := p.Code(); {
		case code > 0 && !(f.fails && code == 1):
			s.Fatalf("exit code %d:\n%s", code, p.Last())
		case f.says != "":
			n := strings.Count(p.Text(), f.says)
			if hits < wanted || n == 0 {
				s.Fatalf("%d hits, and %d units that %s:\n%s", hits, n, f.says, p.Last())
			}
			return n
		case hits >= wanted:
			return hits
		}
	}
	s.Fatalf("%d hits, want %d", hits, wanted)
	return hits
}

// strikes strikes at random moments while a run lasts, and waits for its end.
func (s *site) strikes(f fault, r *struck, wanted int) (hits int) {
	for hits < wanted && !r.Gone() {
		within := f.within
		if within == 0 {
			within = s.span(r)
		}
		select {
		case <-r.Ended():
			return hits
		case <-s.Ctx.Done():
			s.OK(s.Ctx.Err())
		case <-time.After(r.moments.Within(within)):
		}
		if f.strike(s, r) {
			hits++
		}
	}
	r.Wait()
	return hits
}

// span waits until a run has nothing more to do before its stage, and returns about how
// long the rest of the stage takes.
func (s *site) span(r *struck) time.Duration {
	earlier := drill.Stages[:slices.Index(drill.Stages, r.stage)]
	r.Until(func() bool {
		begun := strings.Contains("\n"+r.Text(), "\n"+r.stage+": ") // the run prints it right before the first unit
		return begun && !slices.ContainsFunc(earlier, func(stage string) bool { return s.left(r.out, stage) > 0 })
	})
	all, seconds := s.Units(s.undisturbed(), r.stage), 0.0
	for _, m := range all {
		seconds += m.WallSeconds
	}
	share := float64(s.left(r.out, r.stage)) / float64(len(all))
	return time.Duration(seconds / 2 * share * float64(time.Second)) // two units at a time
}

// killRun kills the run itself. A hit of a stage leaves units of it to run.
func (s *site) killRun(r *struck) bool {
	r.Kill()
	if r.stage == "" || r.Code() >= 0 {
		return r.Code() < 0
	}
	s.Whole(r.out)
	return s.left(r.out, r.stage) > 0
}

// killElement kills the process of an array element.
func (s *site) killElement(r *struck) bool { return signalElement(r, syscall.SIGKILL) }

// stopElement stops the process of an array element, which then runs out of time.
func (s *site) stopElement(r *struck) bool { return signalElement(r, syscall.SIGSTOP) }

func signalElement(r *struck, signal syscall.Signal) bool {
	pids := elementProcesses(r.out)
	return len(pids) > 0 && syscall.Kill(pids[r.moments.Below(len(pids))], signal) == nil
}

// elementProcesses are the processes of an output folder's elements.
func elementProcesses(out string) []int {
	return processesWith("\x00--element\x00" + filepath.Join(out, "slurm") + "/")
}

// processesWith lists the processes whose command line has this text. Its words are
// separated by zeros.
func processesWith(text string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	for _, path := range paths {
		if words, err := os.ReadFile(path); err == nil && strings.Contains(string(words), text) { // otherwise it has ended
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// running are the elements that run.
func (s *site) running() []string {
	s.Helper()
	text, err := s.slurm("squeue", "--noheader", "--array", "--states=RUNNING", "--format=%F_%K")
	s.OK(err)
	return strings.Fields(text)
}

// one draws one of the elements that run; "" if none does.
func (s *site) one(r *struck) string {
	running := s.running()
	if len(running) == 0 {
		return ""
	}
	return running[r.moments.Below(len(running))]
}

// requeue requeues an element that runs.
func (s *site) requeue(r *struck) bool {
	element := s.one(r)
	if element == "" {
		return false
	}
	_, err := s.slurm("scontrol", "requeue", element)
	return err == nil // it may have ended by now
}

// preempt submits jobs to which those of the partition spot give way.
func (s *site) preempt(*struck) bool {
	if len(s.running()) == 0 {
		return false
	}
	_, err := s.slurm("sbatch", "--partition=urgent", "--array=0-1", "--exclusive", "--output=/dev/null", "--wrap=sleep 1")
	s.OK(err)
	return true
}

// killController kills the controller, and starts it again after a while.
func (s *site) killController(r *struck) bool {
	s.cluster.KillController()
	s.Wait(r.moments.Within(6 * time.Second))
	s.cluster.StartController()
	return true
}

// killNode kills a node with its jobs, and starts it again after a while.
func (s *site) killNode(r *struck) bool {
	if len(s.running()) == 0 {
		return false
	}
	node := fmt.Sprintf("n%d", 1+r.moments.Below(2))
	s.cluster.KillNode(node)
	s.Wait(r.moments.Within(40 * time.Second))
	s.cluster.StartNode(node)
	return true
}

// cancel cancels an element: the run fails and reports it, and the next one resumes.
func (s *site) cancel(r *struck) bool {
	element := s.one(r)
	if element == "" {
		return false
	}
	if _, err := s.slurm("scancel", element); err != nil {
		return false // it has ended by now
	}
	if r.Wait(); r.Code() == 0 { // the element was about to end
		return false
	}
	r.Says(1, "was cancelled")
	return true
}

// outOfMemory gives the units of a stage less memory than they take.
func (s *site) outOfMemory(t *trial) {
	if _, err := os.Stat(s.Path("c", "cgroup.conf")); errors.Is(err, os.ErrNotExist) {
		s.Skip("the kernel of this machine limits no memory of jobs")
	}
	s.disturb(fault{
		name: "out of memory", anew: []string{"replay"}, says: "ran out of memory",
		keys: []string{"executor.replay.memory_mib=8", "executor.retries=6"},
	}, t)
}
