// Command sandbox attacks the sandbox in which programs are scored, and scores
// programs under load.
//
// It runs every hostile program of internal/sandbox/hostile, tells what became
// of it and what the machine saw of it, and looks for what it may have left
// behind. Then it scores the same programs on a quiet machine and on one with
// eight times as much to do as it can, and holds the verdicts together. Last it
// says how fast programs are scored.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"runtime"
	"time"

	drill "speceval/drills/lab"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags of the drill.
type options struct {
	python   string
	programs int // that are scored twice
	load     int // busy processes for each core
	atATime  int
	limit    time.Duration
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("drill-sandbox", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.python, "python", "python3", "the interpreter: a name or a path")
	flags.IntVar(&o.programs, "programs", 200, "programs that are scored on a quiet and on a busy machine; 0: that part is left out")
	flags.IntVar(&o.load, "load", 8, "busy processes for each core")
	flags.IntVar(&o.atATime, "at-a-time", runtime.NumCPU(), "programs that run at a time")
	flags.DurationVar(&o.limit, "limit", 20*time.Minute, "time after which the drill gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return drill.Run("drill-sandbox", o.limit, stdout, func(ctx context.Context) error { return do(ctx, o, stdout) })
}

// do is the drill.
func do(ctx context.Context, o options, stdout io.Writer) error {
	return errors.Join(
		attacks(ctx, o, stdout),
		underLoad(ctx, o, stdout),
		speed(ctx, o, stdout),
	)
}
