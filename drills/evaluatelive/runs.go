package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"speceval/drills/evaluated"
)

// schedule is the evaluations to make, in order: by turns, so that a machine that
// gets slower is slower for both policies, and every pair with the other one first.
// No two have a seed in common, and so no rollout.
func schedule(counts map[int]int) (all []evaluated.Order) {
	const span = 1_000_000 // seeds of a budget
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	for i := range most {
		for _, budget := range budgets {
			if i >= counts[budget] {
				continue
			}
			pair := []evaluated.Order{
				{Policy: evaluated.Async, Budget: budget, Seed: uint64(budget*span + 2*i)},
				{Policy: evaluated.Uniform, Budget: budget, Seed: uint64(budget*span + 2*i + 1)},
			}
			if i%2 == 1 {
				slices.Reverse(pair)
			}
			all = append(all, pair...)
		}
	}
	return all
}

// budgets are those of evaluations, in rollouts per task.
var budgets = []int{8, 16}

// makeAll makes evaluations one after another, unless they are there.
func makeAll(ctx context.Context, program *evaluated.Program, orders []evaluated.Order, workers []string, stdout io.Writer) (all []*evaluated.Result, err error) {
	there := 0
	for i, order := range orders {
		order.Workers = workers
		r, err := evaluated.Read(program.Folder(order))
		if r != nil {
			there++
			err = cmp.Or(err, r.Check(order.Budget))
		} else if err == nil {
			r, err = program.Run(ctx, order)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
		if made := i + 1 - there; made > 0 && made%20 == 0 {
			fmt.Fprintf(stdout, "%d of %d evaluations, the last in %.1f s\n", i+1, len(orders), r.Seconds)
		}
	}
	fmt.Fprintf(stdout, "%d evaluations, %d of them made earlier, on %s servers\n", len(all), there, all[0].Provenance)
	return all, nil
}

// header are the columns of the file of runs.
var header = []string{
	"budget", "policy", "seed", "provenance", "pilots", "weight", "estimate", "standard_error", "low", "high", "rollouts", "extra_rollouts",
	"completion_tokens", "wasted_tokens", "seconds", "barrier_seconds", "startup_seconds", "sessions",
}

// writeRuns writes all runs into a CSV file.
func writeRuns(path string, runs []*evaluated.Result) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	rows := csv.NewWriter(file)
	rows.Write(header) // errors: see rows.Error
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, r := range runs {
		rows.Write([]string{
			strconv.Itoa(r.Budget), r.Policy, strconv.FormatUint(r.Seed, 10), r.Provenance, strconv.Itoa(r.Design.Pilots), number(r.Design.Weight),
			number(r.Estimate), number(r.StandardError), number(r.Interval[0]), number(r.Interval[1]), strconv.Itoa(r.Rollouts), strconv.Itoa(r.Extra),
			strconv.FormatInt(r.Tokens.Completion, 10), strconv.FormatInt(r.Tokens.Wasted, 10),
			number(r.Seconds), number(r.Barrier), number(r.Startup), strconv.Itoa(r.Sessions),
		})
	}
	rows.Flush()
	return errors.Join(rows.Error(), file.Close())
}
