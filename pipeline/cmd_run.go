package main

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/internal/process"
	"speceval/pipeline/dag"
	"speceval/pipeline/status"
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

// unitOptions are the flags of unit.
type unitOptions struct{ element string }

func unitCommand() command {
	u := new(unitOptions)
	return command{
		name:  "unit",
		args:  "STAGE KEY | --element DIR",
		about: "run one unit, fresh or not: what an element of a job calls",
		examples: `  speceval unit replay 2f39e31d75e99329   the unit of that key, or of the key that begins so
`,
		complete: completeStages,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&u.element, "element", "", "run what is not done of an element of the job in `DIR`; SPECEVAL_ELEMENT or Slurm says which")
		},
		run: u.run,
	}
}

// run takes no lock: the run that hands out units holds it.
func (u *unitOptions) run(s *session, words []string) error {
	if u.element != "" {
		if err := wantWords(words, 0, 0, "nothing with --element"); err != nil {
			return err
		}
		return s.runElement(u.element)
	}
	if err := wantWords(words, 2, 2, "a stage and a key"); err != nil {
		return err
	}
	o, err := s.open(dag.Selection{Stages: words[:1]})
	if err != nil {
		return err
	}
	ctx, stop := s.interruptible()
	defer stop()
	m, err := s.unitOfKey(ctx, o, words[0], words[1])
	if closed := o.close(ctx); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	s.sayUnit(m)
	return nil
}

// unitOfKey finds a unit and runs it.
func (s *session) unitOfKey(ctx context.Context, o *opened, stage, key string) (*dag.Manifest, error) {
	snapshot, err := o.graph.Scan(ctx, o.Out)
	if err != nil {
		return nil, err
	}
	ref, err := snapshot.Find(stage, key)
	if err != nil {
		return nil, err
	}
	return snapshot.RunUnit(ctx, ref, s.origin, s.now, nil)
}

// sayUnit says what came of a unit.
func (s *session) sayUnit(m *dag.Manifest) {
	for _, note := range m.Notes {
		s.warn("%s", note)
	}
	s.say("%s/%s done in %s (CPU %s, peak memory %s)", m.Parts.Stage, m.Parts.Unit,
		display.Duration(m.WallSeconds), display.Duration(m.CPUSeconds), display.Megabytes(m.PeakBytes))
}

func planCommand() command {
	o := new(selectionOptions)
	return command{
		name:  "plan",
		args:  "[STAGE…] [--force] [--from S] [--until S] [-j N] [--set KEY=VALUE]",
		about: "show exactly what run would do with the same words and flags, and why",
		examples: `  speceval plan                           what a full run would do
  speceval plan replay                    what ` + "`speceval run replay`" + ` would do
  speceval plan --set replay.draws=1024   what that change would cost
`,
		complete: completeStages,
		flags:    o.flags,
		run: func(s *session, stages []string) error {
			x, plan, err := s.look(o.selection(stages))
			if err != nil {
				return err
			}
			x.atATime(o.jobs)
			for _, w := range plan.Warnings {
				s.warn("%s", w)
			}
			s.sayNotes(x, plan)
			return status.WritePlan(s.stdout, plan, x.machines(), s.width)
		},
	}
}

// whyOptions are the flags of why.
type whyOptions struct{ all bool }

func whyCommand() command {
	o := new(whyOptions)
	return command{
		name:  "why",
		args:  "STAGE [--all]",
		about: "show the changed inputs and keys of a stale stage",
		examples: `  speceval why replay         the changes, and some of the units of each
  speceval why replay --all   with every unit and its key
`,
		complete: completeStages,
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&o.all, "all", false, "list every unit and reason")
		},
		run: o.run,
	}
}

func (o *whyOptions) run(s *session, words []string) error {
	if err := wantWords(words, 1, 1, "one stage"); err != nil {
		return err
	}
	if _, err := s.open(dag.Selection{Stages: words}); err != nil {
		return err
	}
	x, plan, err := s.look(dag.Selection{}) // all stages: staleness comes from upstream too
	if err != nil {
		return err
	}
	for i := range plan.Stages {
		if plan.Stages[i].Stage.Name == words[0] {
			return status.WriteWhy(s.stdout, &plan.Stages[i], x.machines(), o.all, s.width)
		}
	}
	return nil
}

// statusOptions are the flags of status.
type statusOptions struct{ json, check bool }

func statusCommand() command {
	o := new(statusOptions)
	return command{
		name: "status",
		args: "[--json] [--check]",
		about: `show what is fresh, stale and missing; with --check exit 3 unless all is fresh

Of the units of each stage it says too how many are queued, running and failed
now, whatever their state. A unit counts as failed until it is fresh or would be
made of something else. The last failures follow with their logs.`,
		examples: `  speceval status            a line for each stage
  speceval status --check    for scripts: exit code 3 if anything is stale or missing
  speceval status --json     one JSON document
`,
		flags: func(fs *pflag.FlagSet) {
			jsonFlag(fs, &o.json, "print one JSON document")
			fs.BoolVar(&o.check, "check", false, "exit 3 if anything is stale or missing")
		},
		run: o.run,
	}
}

func (o *statusOptions) run(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	x, plan, err := s.look(dag.Selection{})
	if err != nil {
		return err
	}
	st := status.Of(x.Out, plan)
	if all, running, err := status.Units(x.Out, plan, s.elsewhere); err != nil {
		s.warn("what is queued, running and failed is not known: %v", err)
	} else {
		st.Add(all, running)
	}
	if o.json {
		err = st.JSON(s.stdout)
	} else {
		err = st.Text(s.stdout, s.width)
	}
	if err != nil {
		return err
	}
	if o.check && !st.Fresh {
		return errStale
	}
	return nil
}
