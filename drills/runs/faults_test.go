//go:build drill

package runs_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/drills/drill"
)

var only = flag.String("only", "", "faults: those named, with commas; empty: all")

// TestFaults makes the faults of one machine: it kills runs in every stage, fills their
// disk, damages their outputs and journals, leaves half-written files, edits what is read,
// and makes the output folder read-only. After every fault a plain `speceval run` must end
// well and give the same bytes.
//
// Rollouts are compared without the columns latency_seconds and server, which no seed
// determines. Where rollouts were sampled anew, everything after them is compared with
// an undisturbed run on those very rollouts, byte for byte, since all keys have their
// digest.
func TestFaults(t *testing.T) {
	s := &site{Lab: drill.New(t, 30*time.Minute)}
	s.prepare()
	s.each(ofMachine)
}

// fault is a fault and how it is made: by make, or by strikes on runs.
type fault struct {
	name  string
	large bool // not made in the short version
	make  func(s *site)

	strike func(s *site, r *struck) (hit bool)
	hits   [2]int        // wanted, in the short version and in the long one
	within time.Duration // of the start or of the strike before; 0: within the time that the stage takes
	stages []string      // each of which is struck; nil: the run as a whole
	anew   []string      // stages that run; nil: all
	keys   []string      // of the configuration
	fails  bool          // a run may fail with exit code 1, and is started again
	says   string        // what the run must report, and then end well
	needs  func(s *site)
}

// ofMachine are the faults of one machine.
var ofMachine = []fault{
	{name: "killed", strike: (*site).killRun, hits: [2]int{2, 6}, stages: drill.Stages},
	{name: "disk full", make: (*site).full},
	{name: "outputs damaged", make: (*site).damaged},
	{name: "half-written files", make: (*site).leftovers},
	{name: "edited during the run", make: (*site).edits},
	{name: "read-only folder", make: (*site).readOnly},
}

// ofCluster are the faults of a Slurm cluster.
var ofCluster = []fault{
	{name: "elements killed", strike: elementGets(syscall.SIGKILL), hits: [2]int{3, 40}, within: time.Second, fails: true},
	{name: "coordinator killed", strike: (*site).killRun, hits: [2]int{3, 25}, within: 6 * time.Second},
	{name: "elements requeued", large: true, strike: onElement("scontrol", "requeue"), hits: [2]int{2, 10}, within: 3 * time.Second},
	{name: "elements preempted", large: true, strike: (*site).preempt, hits: [2]int{2, 8}, within: 4 * time.Second,
		keys: []string{"executor.partition=spot"}},
	{name: "controller killed", large: true, strike: (*site).killController, hits: [2]int{1, 6}, within: 4 * time.Second},
	{name: "elements cancelled", strike: (*site).cancel, hits: [2]int{1, 4}, within: time.Second, fails: true},
	{name: "node killed", large: true, strike: (*site).killNode, hits: [2]int{1, 3}, within: 4 * time.Second},
	{name: "out of memory", large: true, needs: (*site).limitsMemory, anew: []string{"replay"},
		keys: []string{"executor.replay.memory_mib=8", "executor.retries=6"}, says: "ran out of memory"},
	{name: "out of time", large: true, strike: elementGets(syscall.SIGSTOP), hits: [2]int{1, 1}, within: 100 * time.Millisecond,
		anew: []string{"replay"}, keys: []string{"executor.replay.minutes=1", "executor.retries=6"}, says: "ran out of time"},
}

// wanted reports whether a fault is made: with -only those named, otherwise all, in the
// short version without the large ones.
func (f *fault) wanted(small bool) bool {
	if *only != "" {
		return drill.Wanted(*only, f.name)
	}
	return !(f.large && small)
}

// each makes faults. One that fails does not keep the others from being made.
func (s *site) each(faults []fault) {
	made := 0
	for _, f := range faults {
		if !f.wanted(s.Small) {
			continue
		}
		made++
		s.Sub(f.name, func(l *drill.Lab) {
			if s := s.in(l); f.make != nil {
				f.make(s)
			} else {
				s.disturb(f)
			}
		})
	}
	if made == 0 {
		s.Fatalf("-only %q names no fault", *only)
	}
}

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
func (s *site) disturb(f fault) {
	if f.needs != nil {
		f.needs(s)
	}
	name := strings.ReplaceAll(f.name, " ", "-")
	out := s.Path(name)
	switch {
	case f.anew != nil:
		out = s.copied(name, f.anew...)
	case s.Small && s.cluster != nil: // rollouts and scores take most of the time
		out = s.copied(name, "replay", "systems", "report")
	}
	moments := drill.NewMoments(f.name)
	if f.stages == nil {
		run := s.run(append([]string{"executor.element_minutes=0.05", "executor.retries=50"}, f.keys...)...)
		s.hit(f, &struck{out: out, moments: moments}, run)
	}
	for _, stage := range f.stages {
		run := []string{"run", "--until", stage}
		s.hit(f, &struck{out: out, stage: stage, moments: moments}, run)
	}
	s.finish(out)
}

// hit runs a command over and over until the fault has hit it often enough.
func (s *site) hit(f fault, r *struck, run []string) {
	hits, wanted := 0, s.Often(f.hits[0], f.hits[1])
	for tries := 0; tries < 10*(1+wanted); tries++ {
		again := r.stage
		if again == "" && tries > 0 {
			again = "replay"
		}
		if again != "" && s.left(r.out, again) == 0 {
			s.Forget(r.out, again)
		}
		r.Process = s.start(r.out, run...)
		for hits < wanted && s.moment(f, r) {
			if f.strike(s, r) {
				hits++
			}
		}
		r.Wait()
		switch code, said := r.Code(), strings.Count(r.Text(), f.says); {
		case code > 0 && !(f.fails && code == 1):
			s.Fatalf("exit code %d:\n%s", code, r.Last())
		case f.says != "" && (hits < wanted || said == 0):
			s.Fatalf("%d hits, and %d units that %s:\n%s", hits, said, f.says, r.Last())
		case hits >= wanted:
			s.Logf("%s: %d hits in %d runs", cmp.Or(r.stage, "all stages"), hits, tries+1)
			return
		}
	}
	s.Fatalf("%d hits, want %d", hits, wanted)
}

// moment waits for a random moment of a run, and reports whether it came before the end.
func (s *site) moment(f fault, r *struck) bool {
	if r.Gone() {
		return false
	}
	within := f.within
	if within == 0 {
		within = s.span(r)
	}
	select {
	case <-r.Ended():
	case <-s.Ctx.Done():
		s.Fatal(s.Ctx.Err())
	case <-time.After(r.moments.Within(within)):
	}
	return !r.Gone()
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

// elementGets sends a signal to the process of an array element. Stopped, it runs out of
// time.
func elementGets(signal syscall.Signal) func(*site, *struck) bool {
	return func(_ *site, r *struck) bool {
		pids := elementProcesses(r.out)
		return len(pids) > 0 && syscall.Kill(pids[r.moments.Below(len(pids))], signal) == nil
	}
}

// elementProcesses are the processes of an output folder's elements.
func elementProcesses(out string) []int {
	return drill.Processes("\x00--element\x00" + filepath.Join(out, "slurm") + "/")
}

// running are the elements that run.
func (s *site) running() []string {
	s.Helper()
	return strings.Fields(s.slurm("squeue", "--noheader", "--array", "--states=RUNNING", "--format=%F_%K"))
}

// onElement runs one of Slurm's commands on one of the elements that run, if any does. The
// element may have ended by then.
func onElement(program string, words ...string) func(*site, *struck) bool {
	return func(s *site, r *struck) bool {
		running := s.running()
		if len(running) == 0 {
			return false
		}
		element := running[r.moments.Below(len(running))]
		_, err := s.trySlurm(program, append(slices.Clone(words), element)...)
		return err == nil
	}
}

// cancel cancels an element: the run fails and reports it, and the next one resumes.
func (s *site) cancel(r *struck) bool {
	if !onElement("scancel")(s, r) {
		return false
	}
	if r.Wait(); r.Code() == 0 { // the element was about to end
		return false
	}
	r.Says(1, "was cancelled")
	return true
}

// preempt submits jobs to which those of the partition spot give way.
func (s *site) preempt(*struck) bool {
	if len(s.running()) == 0 {
		return false
	}
	s.slurm("sbatch", "--partition=urgent", "--array=0-1", "--exclusive", "--output=/dev/null", "--wrap=sleep 1")
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

// limitsMemory skips where units cannot run out of memory: not every kernel limits the
// memory of jobs.
func (s *site) limitsMemory() {
	if _, err := os.Stat(s.Path("c", "cgroup.conf")); err != nil {
		s.Skip("the kernel of this machine limits no memory of jobs")
	}
}
