// Command speceval runs the experiment of experiments.toml as a pipeline of
// stages: it plans what is stale, runs it, writes the tables, and compares
// them with the paper. `speceval help` lists its commands.
//
// Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failed,
// 2 usage or configuration, 3 stale, 4 outside tolerance, 130 interrupted.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"speceval/internal/atomicfile"
	"speceval/internal/clock"
	"speceval/internal/evaluation"
	"speceval/internal/process"
	"speceval/internal/table"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/evaluate"
	"speceval/pipeline/experiment"
	"speceval/pipeline/runlog"
	"speceval/pipeline/status"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	relay := process.NewRelay(signals, clock.Wall{})
	os.Exit(relay.Run(func() int {
		return run(os.Args[1:], newShell(os.Args, signals, relay), shipped)
	}, ended))
}

// ended is the exit code where the process ends in the middle of what it does. All
// files are written whole or not at all.
func ended() int {
	fmt.Fprintln(os.Stderr, "speceval: interrupted, and ended at once; what was stored stays")
	return exitInterrupted
}

// The exit codes of speceval.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // usage or configuration
	exitStale       = 3 // status --check
	exitOutside     = 4 // verify, compare, diff: outside tolerance
	exitInterrupted = 130
)

// usageError is a fault of the command line or the configuration.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// errStale is the outcome of status --check when something is stale.
var errStale = errors.New("stale: `speceval plan` says why, `speceval run` makes it fresh")

// errOutside is the outcome of verify when a number differs from the paper's,
// of compare when a profile differs, and of diff when a number does.
var errOutside = errors.New("outside tolerance")

// exitCode is the process's exit code for the outcome of a command.
func exitCode(err error) int {
	var usage *usageError
	var request *evaluate.RequestError
	var stage *dag.UnknownStageError
	var run *dag.Error
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &run) && !run.Interrupted:
		return exitFailed // whatever its units failed of
	case run != nil, errors.Is(err, context.Canceled), errors.Is(err, evaluation.ErrStopped):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &request), errors.As(err, &stage):
		return exitUsage
	case errors.Is(err, errStale):
		return exitStale
	case errors.Is(err, errOutside):
		return exitOutside
	}
	return exitFailed
}

// session is one command at work.
type session struct {
	*shell
	options
	pipeline pipeline
	root     *cobra.Command
	logs     string // folder for logs of what units start; "": in the output folder

	helpError error // of writing help
}

// console is where progress is shown.
func (s *session) console() status.Console {
	return status.Console{W: s.stderr, Bars: s.bars, Now: s.now, Terminal: s.terminal, Columns: s.columns, Quiet: s.quiet}
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

// inJobs reports whether the units of some stages run in jobs.
func (o *opened) inJobs() bool { return o.Executor.InJobs() }

// machines are what estimates are for.
func (o *opened) machines() status.Machines {
	return status.Machines{Workers: o.Workers, Elements: o.ElementSeconds()}
}

// outside is what of the world outside the experiment may use.
func (s *session) outside() experiment.Outside {
	return experiment.Outside{Out: s.out, Logs: s.logs, Environment: s.environment, Report: s.report}
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

// atATime is how many units of the experiment run at a time; 0 leaves it as the
// configuration says.
func (o *opened) atATime(n jobs) {
	if n > 0 {
		o.Workers = int(n)
	}
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
	return fmt.Sprintf("pid %d on %s, %s: %s", s.pid, s.origin.Host, status.Dated(s.now()), s.origin.Command)
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

// optional is the configuration, or the defaults where no file is named and none is there.
func (s *session) optional() (*config.Config, error) {
	load := config.Load
	if s.config == defaultConfig {
		load = config.LoadOrDefaults
	}
	cfg, err := load(s.config, s.sets)
	if err != nil {
		return nil, &usageError{err}
	}
	return cfg, nil
}

// sayNotes writes what the user should know of the stages that the plan runs. Where nothing
// runs it is old news.
func (s *session) sayNotes(o *opened, plan *dag.Plan) {
	for _, stage := range plan.Stages {
		if len(stage.Run) > 0 {
			for _, note := range o.Notes[stage.Stage.Name] {
				s.say("note: %s", note)
			}
		}
	}
}

// say writes a message for the user, unless asked to be quiet.
func (s *session) say(format string, args ...any) {
	if !s.quiet {
		s.tell(fmt.Sprintf(format, args...))
	}
}

// tell writes a message, a single line wrapped to the terminal.
func (s *session) tell(text string) {
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
	fmt.Fprintf(s.stderr, "%s %s\n", status.Dated(s.now()), text)
}

// warn writes a message that being quiet does not silence.
func (s *session) warn(format string, args ...any) {
	s.tell("speceval: warning: " + fmt.Sprintf(format, args...))
}

// runsFile is the record of how units came to be, in the output folder. As the
// page of the report it is no output of a unit: it holds times.
const runsFile = "runs.parquet"

// recorder writes the log of a run in the output folder, and shows its progress
// by another observer.
func (s *session) recorder(o *opened, shown dag.Observer, holder string) dag.Observer {
	return &runlog.Recorder{
		Observer: shown, Dir: filepath.Join(o.Out, dag.LogsDir), Host: s.origin.Host, Now: s.now,
		Run:       runlog.Run{PID: s.pid, Command: s.origin.Command, Commit: s.origin.Revision(), Config: s.config, Holder: holder},
		Elsewhere: func(stage string) bool { return o.inJobs() && o.Executor.Stages[stage].Where == config.WhereJobs },
		Warn:      func(err error) { s.warn("the log of this run has gaps, which its results have not: %v", err) },
	}
}

// writeRuns writes the record of all units that have run, also after a run that
// failed. That it cannot be written is no failure: the next run makes it whole.
func (s *session) writeRuns(o *opened, snapshot *dag.Snapshot) {
	rows := runlog.Rows(snapshot.Records())
	if len(rows) == 0 {
		return
	}
	write := func(w io.Writer) error { return runlog.WriteRuns(w, rows, s.origin.Revision()) }
	if err := atomicfile.Write(filepath.Join(o.Out, runsFile), write); err != nil {
		s.warn("the results are stored, but not the record of the runs: %v", err)
	}
}
