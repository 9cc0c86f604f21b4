// Command stages asks how many stages an evaluation should have. Each further stage
// spends the rest of the budget by better knowledge, and is a further barrier, at which
// places may idle: what counts is variance times time.
//
// It designs, replays and executes evaluations in 2 to 7 stages on the simulated fleet,
// with and without donors, on a narrow and on a wide worker, and prints the variance,
// the time and their product relative to Uniform's. It passes if all executions spend
// exactly their budget, waste nothing where they do not speculate, and are on average
// no slower with speculation than without, and if stages do lower the variance.
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

func run(args []string, stdout, stderr io.Writer) int {
	s := study{budgets: []int{8, 16, 32, 64}, most: 7, workers: []worker{{8, 32}, {64, 32}}}
	var small bool
	var limit time.Duration
	flags := flag.NewFlagSet("drill-stages", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.each, "each", 2, "profiles of each benchmark; models take turns")
	flags.IntVar(&s.draws, "draws", 200, "replayed evaluations of each design on a profile")
	flags.IntVar(&s.panels, "panels", 64, "simulated evaluations of each candidate of a design")
	flags.IntVar(&s.repeats, "repeats", 4, "executions of each design on a profile")
	flags.IntVar(&s.parallel, "j", runtime.NumCPU(), "profiles at a time")
	flags.Uint64Var(&s.seed, "seed", 1, "of everything that is drawn")
	flags.BoolVar(&small, "small", false, "a few seconds: three profiles, two budgets, up to three stages")
	flags.DurationVar(&limit, "limit", 2*time.Hour, "time after which the drill gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if small {
		s.budgets, s.most, s.few, s.draws, s.panels, s.repeats = []int{8, 16}, 3, 3, 20, 8, 1
	}
	return drill.Run("drill-stages", limit, stdout, func(ctx context.Context) error {
		results, err := s.do(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%d profiles, %d draws and %d executions of each design on each\n", len(results), s.draws, s.repeats)
		return s.report(stdout, results)
	})
}
