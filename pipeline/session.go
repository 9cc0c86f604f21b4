package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/report"
)

// session is one command at work.
type session struct {
	*shell
	options
	pipeline pipeline
	logs     string // folder for logs of what units start; "": in the output folder
}

// opened is the experiment that a command works on.
type opened struct {
	out     string // output folder
	workers int
	graph   *dag.Graph

	executor config.Executor
	servers  map[string]bool // stages whose units start servers

	stages []dag.Stage
	report report.Settings
	notes  []string
	page   func(w io.Writer, h report.History) error
	end    func(ctx context.Context) error // nil: nothing to end
}

// close ends what units have started: servers, for one. An interrupt cuts the
// politeness short.
func (o *opened) close(ctx context.Context) error {
	if o.end == nil {
		return nil
	}
	return o.end(ctx)
}

// open reads the configuration and checks the selection against its stages.
// What is wrong with either is a usageError.
func (s *session) open(sel dag.Selection) (*opened, error) {
	e, err := s.pipeline.load(s.config, s.sets, outside{out: s.out, logs: s.logs, key: s.key, environment: s.environment, report: s.report})
	if err != nil {
		return nil, &usageError{err}
	}
	graph, err := dag.New(e.stages)
	if err != nil {
		return nil, err
	}
	if err := graph.Check(sel); err != nil {
		return nil, &usageError{err}
	}
	o := &opened{out: e.out, workers: e.workers, executor: e.executor, servers: e.servers, graph: graph, stages: e.stages, report: e.report, notes: e.notes, page: e.page, end: e.close}
	if s.jobs < 0 {
		return nil, usagef("-j %d: want at least one unit at a time", s.jobs)
	}
	if s.jobs > 0 {
		o.workers = s.jobs
	}
	if o.workers == 0 {
		o.workers = runtime.GOMAXPROCS(0)
	}
	return o, nil
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
	snapshot, err := o.graph.Scan(ctx, o.out)
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

// sayNotes tells what the user should know of the experiment.
func (s *session) sayNotes(o *opened) {
	for _, note := range o.notes {
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
