// Command smoke runs the whole pipeline end to end: it serves the simulated
// fleet over HTTP, lets all five stages run on the small benchmark, with every
// kind of scorer, and checks what comes out: that the profiles are those that
// the fleet answers by, that nothing is left to do, and that the tables are
// there and say where their numbers come from.
package main

import (
	"context"
	"flag"
	"io"
	"os"
	"time"

	"speceval/drills/drill"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags of the drill.
type options struct {
	binary string
	config string
	dir    string // for all files; "" for a temporary folder
	speed  float64
	limit  time.Duration
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("smoke", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to try")
	flags.StringVar(&o.config, "config", "experiments-small.toml", "the experiment; its servers get free ports")
	flags.StringVar(&o.dir, "dir", "", "new folder for everything, kept afterwards; empty: a temporary one, kept after a failure")
	flags.Float64Var(&o.speed, "speed", 100, "of the fleet")
	flags.DurationVar(&o.limit, "limit", 10*time.Minute, "time after which it gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return drill.Run("smoke", o.limit, stdout, func(ctx context.Context) error { return do(ctx, o, stdout) })
}

// do is the drill.
func do(ctx context.Context, o options, stdout io.Writer) error {
	return drill.InFolder(o.dir, stdout, func(dir string) error { return inFolder(ctx, o, dir, stdout) })
}

// inFolder does it with a folder for all files.
func inFolder(ctx context.Context, o options, dir string, stdout io.Writer) error {
	lab, err := newLab(o, dir, stdout)
	if err != nil {
		return err
	}
	if err := lab.serve(ctx); err != nil {
		return err
	}
	defer lab.fleet.Kill()
	if err := lab.speceval(ctx, "run"); err != nil {
		return err
	}
	return lab.check(ctx)
}
