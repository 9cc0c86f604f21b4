// Command evaluate tries `speceval evaluate`: whether its estimates are unbiased,
// its intervals cover the truth as often as they say, and its evaluations are the
// same through kills. The part coverage draws evaluations of all published profiles
// and needs no program and no server; the part fleet lets the built program
// evaluate models of known probabilities over HTTP, where wrong answers take
// longer; the part losses kills it there, on servers that do not repeat themselves, and
// the part policies does so with policies in stages, with donors good and bad, that stop
// by what they find, and that are extended.
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
	part   string // "" for all
	dir    string // for all files; "" for a temporary folder
	small  bool
	number int // of evaluations of each kind over HTTP; 0: as the size says
	seed   uint64
	jobs   int // evaluations at a time
	limit  time.Duration
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("drill-evaluate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to try")
	flags.StringVar(&o.part, "part", "", "coverage, fleet, losses or policies; empty: all")
	flags.StringVar(&o.dir, "dir", "", "new folder for all files, kept afterwards; empty: a temporary one, kept after a failure")
	flags.BoolVar(&o.small, "small", false, "fewer evaluations, for a few minutes")
	flags.IntVar(&o.number, "n", 0, "evaluations of each kind over HTTP (500; small: 150, 60 or 40)")
	flags.Uint64Var(&o.seed, "seed", 1, "of what is drawn")
	flags.IntVar(&o.jobs, "jobs", 6, "evaluations over HTTP at a time")
	flags.DurationVar(&o.limit, "limit", 4*time.Hour, "time after which the drill gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	parts, err := o.parts()
	if o.jobs < 1 || o.number != 0 && o.number < fewest {
		err = fmt.Errorf("-jobs %d -n %d: want a job at least, and %d evaluations", o.jobs, o.number, fewest)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	return drill.Run("drill-evaluate", o.limit, stdout, func(ctx context.Context) error {
		for _, part := range parts {
			if err := part(ctx, o, stdout); err != nil {
				return err
			}
		}
		return nil
	})
}

// fewest is the least number of evaluations of a series.
const fewest = 10

// part is a part of the drill.
type part func(ctx context.Context, o options, stdout io.Writer) error

// parts are those to do.
func (o options) parts() ([]part, error) {
	switch o.part {
	case "":
		return []part{coverage, overHTTP, losses, policies}, nil
	case "coverage":
		return []part{coverage}, nil
	case "fleet":
		return []part{overHTTP}, nil
	case "losses":
		return []part{losses}, nil
	case "policies":
		return []part{policies}, nil
	}
	return nil, fmt.Errorf("-part %s: want coverage, fleet, losses or policies", o.part)
}
