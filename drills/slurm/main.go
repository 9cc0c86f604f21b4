// Command slurm tries runs through Slurm on a cluster of its own, which it starts
// on this machine. The part table1 runs replay and report of the shipped experiment
// through Slurm and locally, and compares bytes and CPU. The part faults does to a
// small experiment what happens on clusters, and holds what is left to an
// undisturbed local run. The part gpus runs units that start servers on a node with
// GPUs. The part search runs a slice of the exhaustive TS-Neyman search, and prints
// what it took beside the estimate.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	drill "speceval/drills/lab"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags of the drill.
type options struct {
	binary   string
	root     string // of the repository
	config   string
	part     string
	dir      string // for all files; "" for a temporary folder
	small    bool
	local    string        // output folder of a local run; "" to make one
	localCPU time.Duration // of that run
	only     string        // faults to make, with commas; "" for all
	cpus     int           // of the cluster
	seed     uint64
	speed    float64
	limit    time.Duration
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("drill-slurm", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to try")
	flags.StringVar(&o.root, "root", ".", "folder of the repository")
	flags.StringVar(&o.config, "config", "experiments.toml", "the experiment of table1 and search")
	flags.StringVar(&o.part, "part", "table1", strings.Join(names(), ", "))
	flags.StringVar(&o.dir, "dir", "", "new folder for everything, kept afterwards; empty: a temporary one, kept after a failure")
	flags.BoolVar(&o.small, "small", false, "fewer draws, fewer faults")
	flags.StringVar(&o.local, "local", "", "output folder of a local `speceval run replay report` of the same program, for table1; empty: it is made")
	flags.DurationVar(&o.localCPU, "local-cpu", 0, "CPU time that -local took; 0: unknown, and not compared")
	flags.StringVar(&o.only, "only", "", "of the part faults: those named, with commas; empty: all")
	flags.IntVar(&o.cpus, "cpus", 0, "of the cluster; 0: as many as the machine has")
	flags.Uint64Var(&o.seed, "seed", 1, "of the moments of faults")
	flags.Float64Var(&o.speed, "speed", 300, "of the simulated fleet")
	flags.DurationVar(&o.limit, "limit", 2*time.Hour, "time after which it gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	do := part(o.part)
	if do == nil {
		fmt.Fprintf(stderr, "-part %s: want %s\n", o.part, strings.Join(names(), ", "))
		return 2
	}
	return drill.Run("drill-slurm", o.limit, stdout, func(ctx context.Context) error {
		return drill.InFolder(o.dir, stdout, func(dir string) error { return do(ctx, o, dir, stdout) })
	})
}

// parts are those of the drill.
var parts = []struct {
	name string
	do   func(ctx context.Context, o options, dir string, stdout io.Writer) error
}{{"table1", table1}, {"faults", faults}, {"gpus", gpus}, {"search", search}}

func names() []string {
	var all []string
	for _, p := range parts {
		all = append(all, p.name)
	}
	return all
}

func part(name string) func(ctx context.Context, o options, dir string, stdout io.Writer) error {
	for _, p := range parts {
		if p.name == name {
			return p.do
		}
	}
	return nil
}
