// Command faults does to runs on this machine what happens to long ones, and holds
// what they leave to an undisturbed run: it kills them in every stage, fills their
// disk, damages their outputs, manifests and journals, leaves half-written files
// and stale locks, sets the times of files and edits what is read, and makes the
// output folder read-only. After every fault a plain `speceval run` must end well
// and give the same bytes.
//
// Rollouts are compared without the columns latency_seconds and server, which no
// seed determines. Where rollouts were sampled anew, everything after them is
// compared with an undisturbed run on those very rollouts, byte for byte, since
// all keys have their digest.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	drill "speceval/drills/lab"
	undisturbed "speceval/drills/lab"
)

func main() {
	os.Exit(run(os.Args[1:], os.Getenv("SPECEVAL_CI") == "1", os.Stdout, os.Stderr))
}

// options are the flags of the drill.
type options struct {
	binary string
	dir    string // for all files; "" for a temporary folder
	small  bool
	clock  bool   // set the clock of the machine
	strict bool   // a fault that cannot be made here is a failure
	seed   uint64 // of the moments
	speed  float64
	limit  time.Duration
}

func run(args []string, strict bool, stdout, stderr io.Writer) int {
	o := options{strict: strict}
	flags := flag.NewFlagSet("drill-faults", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to try")
	flags.StringVar(&o.dir, "dir", "", "new folder for everything, kept afterwards; empty: a temporary one, kept after a failure")
	flags.BoolVar(&o.small, "small", false, "a smaller experiment, and fewer faults")
	flags.BoolVar(&o.clock, "clock", false, "also set the clock of this machine back and forth during a run; as root, and alone on the machine")
	flags.Uint64Var(&o.seed, "seed", 1, "of the moments")
	flags.Float64Var(&o.speed, "speed", 300, "of the fleet")
	flags.DurationVar(&o.limit, "limit", 30*time.Minute, "time after which the drill gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return drill.Run("drill-faults", o.limit, stdout, func(ctx context.Context) error { return do(ctx, o, stdout) })
}

// do is the drill.
func do(ctx context.Context, o options, stdout io.Writer) error {
	return drill.InFolder(o.dir, stdout, func(dir string) error { return inFolder(ctx, o, dir, stdout) })
}

// inFolder does it with a folder for all files.
func inFolder(ctx context.Context, o options, dir string, stdout io.Writer) error {
	size := undisturbed.Full
	if o.small {
		size = undisturbed.Small
	}
	l, err := newLab(o, dir, size, stdout)
	if err != nil {
		return err
	}
	fleet, err := (&drill.Lab{Dir: dir, Program: o.binary}).Serve(ctx, "fleet.txt", l.experiment.Configuration(), l.experiment.URLs, "--speed", fmt.Sprint(o.speed))
	if err != nil {
		return err
	}
	defer fleet.Kill()
	start := time.Now()
	if err := l.baseline(ctx); err != nil {
		return fmt.Errorf("the undisturbed run: %w", err)
	}
	fmt.Fprintf(stdout, "an undisturbed run and another on its rollouts took %.1f s and gave the same bytes; seed %d, files in %s\n",
		time.Since(start).Seconds(), o.seed, dir)
	return l.all(ctx)
}
