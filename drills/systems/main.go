// Command systems runs the systems stage over HTTP, and holds what it leaves to
// what it must be.
//
// It serves made tasks by the simulated fleet, kills the stage with SIGKILL and
// a replica in the middle of timed runs, and lets it end. Then it checks, from
// the Parquet files and the servers' own metrics: exact counts, the same
// rollouts as under the virtual clock, barriers, windows, speculation and its
// end, which runs were kept and which was void.
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
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags of the drill.
type options struct {
	binary string
	dir    string // for all files; "" for a temporary folder
	short  bool
	speed  float64
	limit  time.Duration
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("drill-systems", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to try")
	flags.StringVar(&o.dir, "dir", "", "new folder for everything, kept afterwards; empty: a temporary one, kept after a failure")
	flags.BoolVar(&o.short, "short", false, "one profile at one budget")
	flags.Float64Var(&o.speed, "speed", 8, "of the fleet")
	flags.DurationVar(&o.limit, "limit", 15*time.Minute, "time after which the drill gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return drill.Run("drill-systems", o.limit, stdout, func(ctx context.Context) error { return do(ctx, o, stdout) })
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
	if err := lab.serve(ctx); err != nil {
		return err
	}
	defer lab.close()
	if err := lab.prepare(ctx); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d settings, 4 strategies, on %d replicas of %d requests, at %g times their speed\n", len(lab.settings), replicas, window, o.speed)
	story, err := lab.disturbed(ctx, stdout)
	if err != nil {
		return err
	}
	return lab.check(story, stdout)
}
