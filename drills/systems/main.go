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
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, o.limit, fmt.Errorf("not done after %v", o.limit))
	defer cancel()
	if err := drill(ctx, o, stdout); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = errors.Join(cause, err)
		}
		fmt.Fprintf(stdout, "drill-systems: failed: %v\n", err)
		return 1
	}
	fmt.Fprintln(stdout, "drill-systems: passed")
	return 0
}

// drill does it all.
func drill(ctx context.Context, o options, stdout io.Writer) (err error) {
	dir := o.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "speceval-drill-systems-"); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				os.RemoveAll(dir)
			} else {
				fmt.Fprintf(stdout, "the files are in %s\n", dir)
			}
		}()
	} else if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
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
