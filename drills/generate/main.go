// Command generate kills and breaks a run of rollouts, and counts what is left.
//
// It serves the small benchmark and another one by the simulated fleet with
// injected faults, runs the generate stage on it, kills the stage with SIGKILL
// at random moments and starts it again until it is done. Then it holds what is
// stored to what was asked: every rollout there once, none asked for again
// after it was stored, none lost, all readable by DuckDB, and all as an
// undisturbed run gives them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	drill "speceval/drills/lab"
)

func main() {
	os.Exit(run(os.Args[1:], os.Getenv("SPECEVAL_PYTHON"), os.Stdout, os.Stderr))
}

// options are the flags of the drill.
type options struct {
	binary   string
	python   string // with duckdb
	dir      string // for all files; "" for a temporary folder
	rollouts int    // K, of each of the 100 tasks
	kills    int
	replicas int
	faults   string // as `speceval fleet --fail` takes them
	speed    float64
	seed     uint64 // of the moments and of the fleet
	limit    time.Duration
}

func run(args []string, python string, stdout, stderr io.Writer) int {
	o := options{python: python}
	if o.python == "" {
		o.python = "python3"
	}
	flags := flag.NewFlagSet("drill-generate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to try")
	flags.StringVar(&o.dir, "dir", "", "new folder for everything, kept afterwards; empty: a temporary one, kept after a failure")
	flags.IntVar(&o.rollouts, "rollouts", 200, "rollouts of each of the 100 tasks")
	flags.IntVar(&o.kills, "kills", 20, "times that the run is killed")
	flags.IntVar(&o.replicas, "replicas", 4, "replicas of the fleet")
	flags.StringVar(&o.faults, "fail", "500=0.02,cut=0.015,garbage=0.01,slow=0.0046,crash=0.0002,hang=0.0002", "rates of the fleet's faults")
	flags.Float64Var(&o.speed, "speed", 100, "of the fleet; 0: it answers at once")
	flags.Uint64Var(&o.seed, "seed", 1, "of the moments and the faults")
	flags.DurationVar(&o.limit, "limit", 20*time.Minute, "time after which the drill gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return drill.Run("drill-generate", o.limit, stdout, func(ctx context.Context) error { return do(ctx, o, stdout) })
}

// do is the drill.
func do(ctx context.Context, o options, stdout io.Writer) error {
	return drill.InFolder(o.dir, stdout, func(dir string) error { return inFolder(ctx, o, dir, stdout) })
}

// inFolder does it with a folder for all files.
func inFolder(ctx context.Context, o options, dir string, stdout io.Writer) error {
	lab, err := newLab(o, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d requests for %d tasks; %d replicas with the faults %s; seed %d; files in %s\n",
		lab.total(), len(lab.tasks), o.replicas, o.faults, o.seed, dir)
	disturbed, err := lab.disturbed(ctx, stdout)
	if err != nil {
		return err
	}
	if err := lab.undisturbed(ctx); err != nil {
		return fmt.Errorf("undisturbed run: %w", err)
	}
	return lab.check(ctx, disturbed, stdout)
}
