//go:build drill

package runs_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/drills/drill"
)

var clock = flag.Bool("clock", false, "faults: also set the clock of this machine back and forth during a run; as root, and alone on the machine")

// TestFaults makes the faults of one machine: it kills runs in every stage, fills their
// disk, damages their outputs, manifests and journals, leaves half-written files and
// stale locks, sets the times of files, edits what is read, and makes the output folder
// read-only. After every fault a plain `speceval run` must end well and give the same
// bytes.
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
	named bool // made only where the flag -only or its own names it
	make  func(s *site, t *trial)

	strike func(s *site, r *struck) (hit bool)
	hits   [2]int        // wanted, in the short version and in the long one
	within time.Duration // of the start or of the strike before; 0: within the time that the stage takes
	stages []string      // each of which is struck; nil: the run as a whole
	anew   []string      // stages that run; nil: all
	keys   []string      // of the configuration
	fails  bool          // a run may fail with exit code 1, and is started again
	says   string        // what the run must report, and then end well
}

// ofMachine are the faults of one machine.
var ofMachine = []fault{
	{name: "killed", strike: (*site).killRun, hits: [2]int{2, 6}, stages: drill.Stages},
	{name: "disk full", make: (*site).full},
	{name: "outputs damaged", make: (*site).outputs},
	{name: "manifests damaged", make: (*site).manifests},
	{name: "half-written files", make: (*site).leftovers},
	{name: "locks", make: (*site).locks},
	{name: "file times", make: (*site).times},
	{name: "edited during the run", make: (*site).edits},
	{name: "read-only folder", make: (*site).readOnly},
	{name: "clock set", named: true, make: (*site).clockSet},
}

// ofCluster are the faults of a Slurm cluster.
var ofCluster = []fault{
	{name: "elements killed", strike: (*site).killElement, hits: [2]int{3, 40}, within: time.Second, fails: true},
	{name: "coordinator killed", strike: (*site).killRun, hits: [2]int{3, 25}, within: 6 * time.Second},
	{name: "elements requeued", large: true, strike: (*site).requeue, hits: [2]int{2, 10}, within: 3 * time.Second},
	{name: "elements preempted", large: true, strike: (*site).preempt, hits: [2]int{2, 8}, within: 4 * time.Second,
		keys: []string{"executor.partition=spot"}},
	{name: "controller killed", large: true, strike: (*site).killController, hits: [2]int{1, 6}, within: 4 * time.Second},
	{name: "elements cancelled", strike: (*site).cancel, hits: [2]int{1, 4}, within: time.Second, fails: true},
	{name: "node killed", large: true, strike: (*site).killNode, hits: [2]int{1, 3}, within: 4 * time.Second},
	{name: "out of memory", large: true, make: (*site).outOfMemory},
	{name: "out of time", large: true, strike: (*site).stopElement, hits: [2]int{1, 1}, within: 100 * time.Millisecond,
		anew: []string{"replay"}, keys: []string{"executor.replay.minutes=1", "executor.retries=6"}, says: "ran out of time"},
}

// wanted reports whether a fault is made: with -only those named, otherwise all, in the
// short version without the large ones.
func (f *fault) wanted(small bool) bool {
	if *only != "" {
		return slices.Contains(strings.Split(*only, ","), f.name)
	}
	return !(f.large && small) && (!f.named || *clock)
}

// trial is what came of a fault.
type trial struct {
	injuries  []string
	submitted int // units, as often as they were submitted to Slurm
	again     int // units submitted while an earlier job of theirs lived
	together  int // units that two elements worked on at the same time
	differing int // bytes of results that differ from an undisturbed run
}

// injured notes injuries that were done.
func (t *trial) injured(format string, args ...any) {
	t.injuries = append(t.injuries, fmt.Sprintf(format, args...))
}

// each makes faults, and prints the table of trials. A fault that fails does not keep
// the others from being made.
func (s *site) each(faults []fault) {
	columns := []string{"fault", "runs:", "s:", "kills or injuries", "bytes differing:"}
	if s.cluster != nil {
		columns = append(columns, "units submitted:", "while a job lived:", "two at once:")
	}
	var rows [][]any
	for _, f := range faults {
		if !f.wanted(s.Small) {
			continue
		}
		t, before, began := new(trial), s.Commands(), time.Now()
		s.Sub(f.name, func(l *drill.Lab) {
			s := s.in(l)
			if f.make != nil {
				f.make(s, t)
			} else {
				s.disturb(f, t)
			}
			if t.differing > 0 {
				s.Errorf("%d bytes differ", t.differing)
			}
			if t.again+t.together > 0 {
				s.Errorf("%d units submitted while their job lived, %d in two elements at once", t.again, t.together)
			}
		})
		row := []any{f.name, s.Commands() - before, int(time.Since(began).Seconds()), strings.Join(t.injuries, ", "),
			t.differing, t.submitted, t.again, t.together}
		rows = append(rows, row[:len(columns)])
	}
	if len(rows) == 0 {
		s.Fatalf("-only %q names no fault", *only)
	}
	drill.Table(columns, rows)
}
