package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/experiment"
	"speceval/pipeline/status"
)

// session is one command at work.
type session struct {
	*shell
	options
	pipeline pipeline
	root     *cobra.Command
	logs     string // folder for logs of what units start; "": in the output folder

	helpError error // of writing help
}

// opened is the experiment that a command works on.
type opened struct {
	*experiment.Experiment
	stages []dag.Stage
	graph  *dag.Graph
}

// close ends what units have started: servers, for one. An interrupt cuts the
// politeness short.
func (o *opened) close(ctx context.Context) error {
	if o.Close == nil {
		return nil
	}
	return o.Close(ctx)
}

// inJobs reports whether the units of some stages run in Slurm jobs.
func (o *opened) inJobs() bool { return o.Executor.Kind == config.ExecutorSlurm }

// machines are what estimates are for.
func (o *opened) machines() status.Machines {
	return status.Machines{Workers: o.Workers, Elements: o.ElementSeconds()}
}

// outside is what of the world outside the experiment may use.
func (s *session) outside() experiment.Outside {
	return experiment.Outside{Out: s.out, Logs: s.logs, Key: s.key, Environment: s.environment, Report: s.report}
}

// open reads the configuration and checks the selection against its stages.
// What is wrong with either is a usageError.
func (s *session) open(sel dag.Selection) (*opened, error) {
	e, err := s.pipeline.load(s.config, s.sets, s.outside())
	if err != nil {
		return nil, &usageError{err}
	}
	o := &opened{Experiment: e, stages: s.pipeline.stages(e)}
	if o.graph, err = dag.New(o.stages); err != nil {
		return nil, err
	}
	if err := o.graph.Check(sel); err != nil {
		return nil, &usageError{err}
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o, nil
}

// atATime has the units of the experiment run so many at a time; 0 leaves it as
// the configuration says.
func (o *opened) atATime(jobs int) error {
	if jobs < 0 {
		return usagef("-j %d: want at least one unit at a time", jobs)
	}
	if jobs > 0 {
		o.Workers = jobs
	}
	return nil
}

// lookGarbage is the garbage collector's target for commands that only look:
// they read much and keep most of it, so that collecting gains little.
const lookGarbage = 400

// look opens the experiment and plans a selection of it, for commands that
// change nothing.
func (s *session) look(sel dag.Selection) (*opened, *dag.Plan, error) {
	debug.SetGCPercent(lookGarbage)
	o, err := s.open(sel)
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := s.interruptible()
	defer stop()
	snapshot, err := o.graph.Scan(ctx, o.Out)
	if err != nil {
		return nil, nil, err
	}
	plan, err := snapshot.Plan(sel)
	return o, plan, err
}

// holder says who writes in a folder, for the message that others get.
func (s *session) holder() string {
	return fmt.Sprintf("pid %d on %s, %s: %s", s.pid, s.origin.Host, dated(s.now()), s.origin.Command)
}

// outFolder is the output folder that the flags or the configuration name.
func (s *session) outFolder() (string, error) {
	if s.out != "" {
		return s.out, nil
	}
	cfg, err := config.Load(s.config, s.sets)
	if err != nil {
		return "", err
	}
	return cfg.Experiment.Out, nil
}

// sayNotes writes what the user should know of the experiment.
func (s *session) sayNotes(o *opened) {
	for _, note := range o.Notes {
		s.say("note: %s", note)
	}
}

// say writes a message for the user, unless asked to be quiet.
func (s *session) say(format string, args ...any) {
	if !s.quiet {
		fmt.Fprintf(s.stderr, format+"\n", args...)
	}
}

// report shows a line while units run. It may be called from any goroutine.
func (s *session) report(text string) {
	if s.quiet {
		return
	}
	erase := ""
	if s.terminal {
		erase = "\r\x1b[2K" // the bar, which comes back by itself
	}
	fmt.Fprintf(s.stderr, "%s%s %s\n", erase, dated(s.now()), text)
}

// warn writes a message that being quiet does not silence.
func (s *session) warn(format string, args ...any) {
	fmt.Fprintf(s.stderr, "speceval: warning: "+format+"\n", args...)
}
