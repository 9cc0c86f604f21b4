package main

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/internal/process"
	"speceval/pipeline/dag"
)

// runOptions are the flags of run.
type runOptions struct {
	selectionOptions
	keepGoing bool
}

func runCommand() command {
	o := new(runOptions)
	return command{
		name:  "run",
		args:  "[STAGE…] [--force] [--from S] [--until S] [-j N] [--set KEY=VALUE] [--keep-going]",
		about: "run what is stale: all stages, or those named",
		examples: `  speceval run                               everything that is stale
  speceval run replay                        that stage alone, on the stored inputs
  speceval run replay --force                the same, though it is fresh
  speceval run --from replay                 replay and all later stages
  speceval run --set replay.draws=1024 -j 4  other values, four units at a time
`,
		complete: completeStages,
		flags: func(fs *pflag.FlagSet) {
			o.selectionOptions.flags(fs)
			fs.BoolVar(&o.keepGoing, "keep-going", false, "after a failure, run what does not depend on it")
		},
		run: func(s *session, stages []string) error {
			_, err := s.runSelection(o.selection(stages), *o)
			return err
		},
	}
}

// runSelection runs what the selection chooses: what run and tables share. It
// returns the plan that it carried out.
func (s *session) runSelection(sel dag.Selection, how runOptions) (*dag.Plan, error) {
	o, err := s.open(sel)
	if err != nil {
		return nil, err
	}
	o.atATime(how.jobs)
	ctx, drain, stop := s.watched(o)
	defer stop()
	holder := s.holder()
	lock, err := dag.Acquire(o.Out, holder)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	snapshot, err := o.graph.Scan(ctx, o.Out)
	if err != nil {
		return nil, err
	}
	plan, err := snapshot.Plan(sel)
	if err != nil {
		return nil, err
	}
	for _, w := range plan.Warnings {
		s.warn("%s", w)
	}
	s.sayNotes(o, plan)
	s.sayPlan(plan, o)
	err = s.carryOut(ctx, drain, o, plan, holder, how.keepGoing)
	s.writeRuns(o, snapshot)
	if err == nil {
		s.sayStale(snapshot, plan)
		err = s.writePage(o, snapshot)
	}
	return plan, err
}

// watched is the context of a run, which interrupts end.
func (s *session) watched(o *opened) (ctx context.Context, drain <-chan struct{}, stop func()) {
	if o.inJobs() {
		return s.stoppable("leaving the jobs; interrupt again to cancel them", "cancelling the jobs")
	}
	return s.drainable("the units")
}

// sayPlan says in one line a stage what will run.
func (s *session) sayPlan(plan *dag.Plan, o *opened) {
	for _, stage := range plan.Stages {
		switch {
		case stage.Stage.Satisfied != "":
			s.say("%s: nothing to run (%s)", stage.Stage.Name, stage.Stage.Satisfied)
		case len(stage.Run) == 0:
			s.say("%s: fresh (%s)", stage.Stage.Name, display.Units(stage.Fresh))
		default:
			s.say("%s: %d of %s to run, %s", stage.Stage.Name, len(stage.Run), display.Units(len(stage.Run)+stage.Fresh), o.machines().Estimated(&stage))
		}
	}
}

// carryOut runs the plan, as the holder of the output folder, and says what it
// took.
func (s *session) carryOut(ctx context.Context, drain <-chan struct{}, o *opened, plan *dag.Plan, holder string, keepGoing bool) error {
	where, err := s.placeOf(ctx, o, drain, plan)
	if err != nil {
		return err
	}
	runner := dag.Runner{
		Executor:  where.Executor,
		Observer:  s.recorder(o, s.console().Run(plan, o.machines().Seconds(plan)), holder),
		Origin:    s.origin,
		Now:       s.now,
		KeepGoing: keepGoing || where.Jobs,
		Shared:    where.Shared,
	}
	start, before := s.now(), process.Used()
	err = runner.Run(ctx, drain, plan)
	if closed := o.close(ctx); err == nil {
		err = closed
	}
	if plan.Units() > 0 {
		used := process.Used()
		what := display.Units(plan.Units()) + " done"
		if err != nil {
			what = "ended"
		}
		s.say("%s in %s (CPU %s, peak memory %s)", what, display.Duration(max(0, s.now().Sub(start).Seconds())),
			display.Duration(used.CPUSeconds-before.CPUSeconds), display.Megabytes(used.PeakBytes))
	}
	return err
}

// sayStale names the stages after those of the plan that the run has left
// stale.
func (s *session) sayStale(snapshot *dag.Snapshot, done *dag.Plan) {
	whole, err := snapshot.Plan(dag.Selection{})
	if err != nil {
		return // cannot be: a plan of everything has no missing inputs
	}
	ran := make(map[string]bool)
	for _, stage := range done.Stages {
		ran[stage.Stage.Name] = true
	}
	var stale []string
	later := false
	for _, stage := range whole.Stages {
		name := stage.Stage.Name
		later = later || ran[name]
		if later && !ran[name] && len(stage.Run) > 0 {
			stale = append(stale, name)
		}
	}
	if len(stale) > 0 {
		s.say("stale now: %s (run `speceval run %s`)", strings.Join(stale, ", "), strings.Join(stale, " "))
	}
}
