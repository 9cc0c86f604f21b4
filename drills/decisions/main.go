// Command decisions tries what evaluations are turned into, on evaluations that it draws
// of the published profiles: errors over tasks and over pairs of models, gates, drift
// tests, and estimates of pass^k and pass@k. It needs no program and no server. It passes
// if intervals cover the truth and decisions are wrong as often as they say.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	drill "speceval/drills/lab"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// parts are those of the drill, by name.
var parts = []struct {
	name string
	do   func(s *study, ctx context.Context, stdout io.Writer) error
}{
	{"tasks", (*study).tasks},
	{"gate", (*study).gate},
	{"passk", (*study).passk},
	{"drift", (*study).drift},
}

func run(args []string, stdout, stderr io.Writer) int {
	var part string
	var small bool
	var number, jobs int
	var root uint64
	var limit time.Duration
	flags := flag.NewFlagSet("drill-decisions", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&part, "part", "", "tasks, gate, drift or passk; empty: all")
	flags.BoolVar(&small, "small", false, "a few seconds: few evaluations of some profiles")
	flags.IntVar(&number, "n", 0, "evaluations of each profile in each setting (1,000; small: 20)")
	flags.IntVar(&jobs, "j", runtime.NumCPU(), "profiles at a time")
	flags.Uint64Var(&root, "seed", 1, "of what is drawn")
	flags.DurationVar(&limit, "limit", 2*time.Hour, "time after which the drill gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if number == 0 {
		number = 1000
		if small {
			number = 20
		}
	}
	s, err := newStudy(number, jobs, small, root)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	known := false
	for _, p := range parts {
		known = known || p.name == part
	}
	if part != "" && !known {
		fmt.Fprintf(stderr, "there is no part %q\n", part)
		return 2
	}
	return drill.Run("drill-decisions", limit, stdout, func(ctx context.Context) error {
		for _, p := range parts {
			if part != "" && p.name != part {
				continue
			}
			if err := p.do(s, ctx, stdout); err != nil {
				return err
			}
		}
		return nil
	})
}
