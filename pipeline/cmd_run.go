package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"speceval/internal/machine/process"
	"speceval/internal/store/atomicfile"
	"speceval/internal/terminal/display"
	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
	"speceval/pipeline/slurm"
	"speceval/pipeline/status"
	"speceval/stages/report/page"
)

func (s *session) runCommand() *cobra.Command {
	var o selection
	keepGoing := false
	c := &cobra.Command{
		Use: "run [STAGE…]", Short: "run what is stale: all stages, or those named",
		Example: `  speceval run                               everything that is stale
  speceval run replay --force                that stage alone, though it is fresh
  speceval run --from replay                 replay and all later stages
  speceval run --set replay.draws=1024 -j 4  other values, four units at a time`,
		ValidArgs: stages,
		RunE: func(_ *cobra.Command, stages []string) error {
			o.Stages = stages
			_, err := s.runSelection(o, keepGoing)
			return err
		},
	}
	o.define(c.Flags())
	c.Flags().BoolVar(&keepGoing, "keep-going", false, "after a failure, run what does not depend on it")
	return c
}

// runSelection runs what the selection chooses: what run and tables share. It
// returns the plan that it carried out.
func (s *session) runSelection(sel selection, keepGoing bool) (*dag.Plan, error) {
	o, err := s.open(sel)
	if err != nil {
		return nil, err
	}
	first, second := draining("the units")
	if o.Executor.InJobs() {
		first, second = "leaving the jobs; interrupt again to cancel them", "cancelling the jobs"
	}
	ctx, drain, stop := s.drainable(first, second)
	defer stop()
	holder := s.holder()
	lock, err := dag.Acquire(o.Out, holder)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	plan, err := o.plan(ctx, sel.Selection)
	if err != nil {
		return nil, err
	}
	s.sayNotes(o, plan)
	for _, stage := range plan.Stages {
		s.say("%s: %s", stage.Stage.Name, o.machines.Todo(&stage))
	}
	err = s.carryOut(ctx, drain, o, plan, holder, keepGoing)
	if err == nil {
		s.sayStale(o.snapshot, plan)
		err = s.writePage(o)
	}
	return plan, err
}

// carryOut runs the plan, as the holder of the output folder, and says what it
// took.
func (s *session) carryOut(ctx context.Context, drain <-chan struct{}, o *opened, plan *dag.Plan, holder string, keepGoing bool) error {
	jobs, err := o.Jobs(slurm.Settings{Process: s.pid, Drain: drain, Report: s.report, Now: s.now})
	if err != nil {
		return err
	}
	executor, inJobs, earlier, err := slurm.PlaceOf(ctx, plan, o.machines.Workers, jobs)
	if err != nil {
		return err
	}
	if earlier > 0 {
		s.say("jobs of an earlier run are at work on %s: they are not submitted again", display.Units(earlier))
	}
	start, before := s.now(), process.Used()
	shown := status.NewRun(s.console(), plan, o.machines.Seconds(plan))
	about := runlog.Run{PID: s.pid, Command: s.origin.Command, Commit: s.origin.Revision(), Config: s.config, Holder: holder}
	elsewhere := func(stage string) bool { _, is := o.machines.Elements[stage]; return is }
	var jobsUsed process.Usage // by the units that are done elsewhere
	log, end := runlog.Record(filepath.Join(o.Out, dag.LogsDir), about, s.origin.Host, s.now, plan, elsewhere, func(err error) {
		s.warn("the log of this run has gaps, which its results have not: %v", err)
	})
	runner := dag.Runner{
		Executor: executor,
		Observe: func(e dag.Event) {
			log(e)
			shown.Observe(e)
			if e.Manifest != nil && elsewhere(e.Unit.Stage) {
				jobsUsed.CPUSeconds += e.Manifest.CPUSeconds
				jobsUsed.PeakBytes = max(jobsUsed.PeakBytes, e.Manifest.PeakBytes)
			}
		},
		Origin:    s.origin,
		Now:       s.now,
		KeepGoing: keepGoing || inJobs,
		Shared:    earlier > 0,
	}
	err = runner.Run(ctx, drain, plan)
	shown.End()
	end()
	err = cmp.Or(err, o.Close(ctx))
	if plan.Units() > 0 {
		used := process.Used()
		what := display.Units(plan.Units()) + " done"
		if err != nil {
			what = "ended"
		}
		s.say("%s in %s (CPU %s, peak memory %s)", what, display.Duration(max(0, s.now().Sub(start).Seconds())),
			display.Duration(used.CPUSeconds-before.CPUSeconds+jobsUsed.CPUSeconds), display.Megabytes(max(used.PeakBytes, jobsUsed.PeakBytes)))
	}
	return err
}

// sayStale names the stages after the first of the plan that are stale once it is done.
func (s *session) sayStale(snapshot *dag.Snapshot, done *dag.Plan) {
	whole, _ := snapshot.Plan(dag.Selection{}) // a plan of everything lacks no input
	var stale []string
	begun := false
	for _, stage := range whole.Stages {
		same := func(p dag.StagePlan) bool { return p.Stage == stage.Stage }
		begun = begun || same(done.Stages[0])
		if begun && len(stage.Run) > 0 && !slices.ContainsFunc(done.Stages, same) {
			stale = append(stale, stage.Stage.Name)
		}
	}
	if len(stale) > 0 {
		s.say("stale now: %s (run `speceval run %s%s`)", strings.Join(stale, ", "), strings.Join(stale, " "), s.named())
	}
}

// pageFile is the page of the report, in the output folder. It is no output of
// a unit: it shows when and where units ran, which no key knows.
const pageFile = "report.html"

// writePage writes the page of the report if the report is as its stored inputs
// make it. After anything else the page that is there stays.
func (s *session) writePage(o *opened) error {
	if o.Page == nil {
		return nil
	}
	plan, err := o.snapshot.Plan(dag.Selection{Stages: []string{reportStage}})
	if err != nil || plan.Units() > 0 {
		return nil // the report has not run, or not since its inputs changed
	}
	h := page.History{Stages: o.Stages, Records: o.snapshot.Records()}
	err = atomicfile.Write(filepath.Join(o.Out, pageFile), func(w io.Writer) error { return o.Page(w, h) })
	if err != nil {
		return fmt.Errorf("the results are stored, but not the page: %w", err)
	}
	if o.Findings != nil && !s.quiet {
		if err := o.Findings(s.stderr); err != nil {
			return err
		}
	}
	s.say("%s written", filepath.Join(o.Out, pageFile))
	return nil
}
