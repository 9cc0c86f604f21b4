package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"speceval/internal/terminal/progress"
	"speceval/internal/terminal/table"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/evaluate"
	"speceval/pipeline/experiment"
	"speceval/pipeline/status"
)

// loader makes an experiment of a configuration file and overrides: experiment.Load, but in tests.
type loader func(file string, sets []string, o experiment.Outside) (*experiment.Experiment, error)

// session is one command at work.
type session struct {
	*shell
	options
	load  loader
	args  []string // of the command line
	began bool     // the command line is in order
	logs  string   // folder for logs of what units start; "": in the output folder
}

// console is where progress is shown.
func (s *session) console() progress.Console {
	return progress.Console{W: s.stderr, Bars: s.bars, Now: s.now, Terminal: s.terminal, Columns: s.columns, Quiet: s.quiet}
}

// opened is the experiment that a command works on.
type opened struct {
	*experiment.Experiment
	graph    *dag.Graph
	snapshot *dag.Snapshot // of the output folder, once it is planned
	machines status.Machines
}

// plan reads the output folder and plans a selection.
func (o *opened) plan(ctx context.Context, sel dag.Selection) (plan *dag.Plan, err error) {
	if o.snapshot, err = o.graph.Scan(ctx, o.Out); err != nil {
		return nil, err
	}
	return o.snapshot.Plan(sel)
}

// outside is the part of the world that the experiment may use.
func (s *session) outside() experiment.Outside {
	return experiment.Outside{Out: s.out, Logs: s.logs, Environment: s.environment, Report: s.report}
}

// open reads the configuration and checks the selection against its stages.
// What is wrong with either is an error of usage.
func (s *session) open(sel selection) (*opened, error) {
	e, err := s.load(s.config, s.sets, s.outside())
	if err != nil {
		return nil, usage(err)
	}
	o := &opened{Experiment: e}
	if o.graph, err = dag.New(e.Stages); err != nil {
		return nil, err
	}
	if err := o.graph.Check(sel.Selection); err != nil {
		return nil, usage(err)
	}
	o.machines = status.Machines{Workers: cmp.Or(int(sel.jobs), o.Executor.Workers, runtime.GOMAXPROCS(0)), Elements: o.ElementSeconds()}
	return o, nil
}

// look opens the experiment and plans a selection of it, for commands that
// change nothing.
func (s *session) look(sel selection) (*opened, *dag.Plan, error) {
	debug.SetGCPercent(400) // much is read, and most of it kept
	o, err := s.open(sel)
	if err != nil {
		return nil, nil, err
	}
	plan, err := o.plan(context.Background(), sel.Selection)
	return o, plan, err
}

// holder says who writes in a folder, for the message that others get.
func (s *session) holder() string {
	return fmt.Sprintf("pid %d on %s, %s: %s", s.pid, s.origin.Host, progress.Dated(s.now()), s.origin.Command)
}

// configuration is as the file and the flags say; the defaults where no file is named and
// none is there.
func (s *session) configuration() (*config.Config, error) {
	return evaluate.Configuration(evaluate.Options{
		Config: s.config, Optional: s.config == defaultConfig, Sets: s.sets, Out: s.out, Workers: s.workers,
	})
}

// configured is the work of a command by its configuration and words.
func (s *session) configured(work func(cfg *config.Config, words []string) error) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, words []string) error {
		cfg, err := s.configuration()
		if err != nil {
			return err
		}
		return work(cfg, words)
	}
}

// sayNotes writes what the user should know of the plan, and of the stages that it runs.
// Where nothing runs it is old news.
func (s *session) sayNotes(o *opened, plan *dag.Plan) {
	for _, w := range plan.Warnings {
		s.warn("%s", w)
	}
	for _, stage := range plan.Stages {
		if len(stage.Run) > 0 {
			for _, note := range o.Notes[stage.Stage.Name] {
				s.say("note: %s", note)
			}
		}
	}
}

// warnStale warns of stages that are not fresh, whose results are read.
func (s *session) warnStale(plan *dag.Plan, stages ...string) {
	for _, stage := range plan.Stages {
		if len(stage.Run) > 0 && slices.Contains(stages, stage.Stage.Name) {
			s.warn("%s is not fresh; `speceval plan%s` says why", stage.Stage.Name, s.named())
		}
	}
}

// say writes a message for the user, unless asked to be quiet.
func (s *session) say(format string, args ...any) {
	if !s.quiet {
		s.write(fmt.Sprintf(format, args...))
	}
}

// warn writes a message that being quiet does not silence.
func (s *session) warn(format string, args ...any) {
	s.write("speceval: warning: " + fmt.Sprintf(format, args...))
}

// write writes a message, a single line wrapped to the terminal.
func (s *session) write(text string) {
	if s.columns > 0 && utf8.RuneCountInString(text) > s.columns && !strings.Contains(text, "\n") {
		io.WriteString(s.stderr, table.WrapAt(s.columns, "", "  ", text))
		return
	}
	fmt.Fprintln(s.stderr, text)
}

// report shows a line while units run. It may be called from any goroutine.
func (s *session) report(text string) {
	if s.quiet {
		return
	}
	if s.terminal {
		io.WriteString(cmp.Or(s.bars, s.stderr), "\r\x1b[2K") // the bar, which comes back by itself
	}
	fmt.Fprintf(s.stderr, "%s %s\n", progress.Dated(s.now()), text)
}
