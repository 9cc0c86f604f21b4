package runs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"speceval/drills/lab"
)

// Faults makes the faults of one machine: it kills runs in every stage, fills their
// disk, damages their outputs, manifests and journals, leaves half-written files and
// stale locks, sets the times of files, edits what is read, and makes the output folder
// read-only. After every fault a plain `speceval run` must end well and give the same
// bytes.
//
// Rollouts are compared without the columns latency_seconds and server, which no seed
// determines. Where rollouts were sampled anew, everything after them is compared with
// an undisturbed run on those very rollouts, byte for byte, since all keys have their
// digest.
var Faults = lab.Drill{
	Name: "drill-faults", About: "runs of all stages through kills, a full disk, damaged files, locks, edits and clocks",
	Limit: 30 * time.Minute, Shared: []string{"speceval", "dir", "small", "seed"},
	Flags: func(flags *flag.FlagSet) func(context.Context, *lab.Lab) error {
		clock := flags.Bool("clock", false, "also set the clock of this machine back and forth during a run; as root, and alone on the machine")
		only := flags.String("only", "", "the faults that are made, with commas; empty: all")
		speed := flags.Float64("speed", 300, "of the fleet")
		return func(ctx context.Context, l *lab.Lab) error {
			s := &site{Lab: l}
			fleet, err := s.prepare(ctx, *speed)
			if err != nil {
				return err
			}
			defer fleet.Kill()
			faults := local
			if *clock {
				faults = append(faults, fault{name: "clock set", make: (*site).clockSet})
			}
			return s.each(ctx, s.wanted(faults, *only))
		}
	},
}

// fault is a fault and how it is made: by make, or by strikes on runs.
type fault struct {
	name  string
	large bool // not made in the short version
	make  func(s *site, ctx context.Context, t *trial) error

	strike func(s *site, ctx context.Context, r *struck) (hit bool, err error)
	hits   [2]int        // wanted, in the short version and in the long one
	within time.Duration // of the start or of the strike before; 0: within the time that the stage takes
	stages []string      // each of which is struck; nil: the run as a whole
	anew   []string      // stages that run; nil: all
	keys   []string      // of the configuration
	fails  bool          // a run may fail with exit code 1, and is started again
	says   string        // what the run must report, and then end well
	needs  func(s *site) error
}

// local are the faults of one machine.
var local = []fault{
	{name: "killed", strike: (*site).killRun, hits: [2]int{2, 6}, stages: lab.Stages},
	{name: "disk full", make: (*site).full},
	{name: "outputs damaged", make: (*site).outputs},
	{name: "manifests damaged", make: (*site).manifests},
	{name: "half-written files", make: (*site).leftovers},
	{name: "locks", make: (*site).locks},
	{name: "file times", make: (*site).times},
	{name: "edited during the run", make: (*site).edits},
	{name: "read-only folder", make: (*site).readOnly},
}

// cluster are the faults of a Slurm cluster.
var cluster = []fault{
	{name: "elements killed", strike: (*site).killElement, hits: [2]int{3, 40}, within: time.Second, fails: true},
	{name: "coordinator killed", strike: (*site).killRun, hits: [2]int{3, 25}, within: 6 * time.Second},
	{name: "elements requeued", large: true, strike: (*site).requeue, hits: [2]int{2, 10}, within: 3 * time.Second},
	{name: "elements preempted", large: true, strike: (*site).preempt, hits: [2]int{2, 8}, within: 4 * time.Second, keys: []string{"executor.partition=spot"}},
	{name: "controller killed", large: true, strike: (*site).killController, hits: [2]int{1, 6}, within: 4 * time.Second},
	{name: "elements cancelled", strike: (*site).cancel, hits: [2]int{1, 4}, within: time.Second, fails: true},
	{name: "node killed", large: true, strike: (*site).killNode, hits: [2]int{1, 3}, within: 4 * time.Second},
	{name: "out of memory", large: true, needs: (*site).limitsMemory, anew: []string{"replay"},
		keys: []string{"executor.replay.memory_mib=8", "executor.retries=6"}, says: "ran out of memory"},
	{name: "out of time", large: true, strike: (*site).stopElement, hits: [2]int{1, 1}, within: 100 * time.Millisecond, anew: []string{"replay"},
		keys: []string{"executor.replay.minutes=1", "executor.retries=6"}, says: "ran out of time"},
}

// wanted are the faults named in only, with commas; with "" all, in the short version
// without the large ones.
func (s *site) wanted(all []fault, only string) []fault {
	return slices.DeleteFunc(slices.Clone(all), func(f fault) bool {
		if only == "" {
			return f.large && s.Small
		}
		return !slices.Contains(strings.Split(only, ","), f.name)
	})
}

// trial is what came of a fault.
type trial struct {
	fault     string
	runs      int // commands of the program
	took      time.Duration
	injuries  []string
	submitted int // units, as often as they were submitted to Slurm
	again     int // units submitted while an earlier job of theirs lived
	together  int // units that two elements worked on at the same time
	differing int // bytes of results that differ from an undisturbed run
	skipped   string
}

// injured notes injuries that were done.
func (t *trial) injured(format string, args ...any) {
	t.injuries = append(t.injuries, fmt.Sprintf(format, args...))
}

// skipped is why a fault cannot be made here.
type skipped string

func (s skipped) Error() string { return string(s) }

// each makes faults, prints the table of trials, and returns an error unless all went
// well. A fault that fails does not keep the others from being made.
func (s *site) each(ctx context.Context, faults []fault) error {
	var trials []*trial
	var errs []error
	for _, f := range faults {
		if ctx.Err() != nil {
			break
		}
		t := &trial{fault: f.name}
		before, began := s.Commands, time.Now()
		err := s.try(ctx, f, t)
		t.runs, t.took = s.Commands-before, time.Since(began)
		trials = append(trials, t)
		s.Printf("%s: %d runs in %.0f s", t.fault, t.runs, t.took.Seconds())
		var skip skipped
		switch {
		case errors.As(err, &skip):
			if t.skipped = string(skip); !s.Strict {
				err = nil
			}
		case err == nil && t.differing > 0:
			err = fmt.Errorf("%d bytes differ", t.differing)
		case err == nil && t.again+t.together > 0:
			err = fmt.Errorf("%d units submitted while their job lived, %d in two elements at once", t.again, t.together)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.name, err))
		}
	}
	s.print(trials)
	return errors.Join(errs...)
}

// try makes a fault.
func (s *site) try(ctx context.Context, f fault, t *trial) error {
	if f.make != nil {
		return f.make(s, ctx, t)
	}
	return s.disturb(ctx, f, t)
}

// print prints the trials as a table.
func (s *site) print(trials []*trial) {
	columns := []string{"fault", "runs:", "s:", "kills or injuries", "bytes differing:"}
	if s.cluster != nil {
		columns = append(columns, "units submitted:", "while a job lived:", "two at once:")
	}
	var rows [][]any
	for _, t := range trials {
		done := strings.Join(t.injuries, ", ")
		if t.skipped != "" {
			done = "skipped: " + t.skipped
		}
		row := []any{t.fault, t.runs, int(t.took.Seconds()), done, t.differing, t.submitted, t.again, t.together}
		rows = append(rows, row[:len(columns)])
	}
	lab.Table(s.Stdout, columns, rows)
}
