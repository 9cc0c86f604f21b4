package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"speceval/drills/evaluated"
	"speceval/internal/seed"
)

// made is an evaluation that is complete.
type made struct {
	turn
	*evaluated.Result
}

// maker makes evaluations, one after another.
type maker struct {
	program *evaluated.Program
	workers []string
	prior   []string // flags that name the donor
	pace    float64  // seconds of an evaluation per rollout of each task, by the last one
	stdout  io.Writer
}

// all makes the evaluations of a schedule, unless they are there.
func (m *maker) all(ctx context.Context, turns []turn) (all []made, err error) {
	there := 0
	for i, t := range turns {
		r, err := evaluated.Read(m.program.Folder(t.Order))
		if r != nil {
			there++
			err = cmp.Or(err, r.Check(t.Budget))
		} else if err == nil {
			r, err = m.one(ctx, t)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.arm.name, err)
		}
		if r.Sessions == 1 {
			m.pace = r.Seconds / float64(r.Budget)
		}
		all = append(all, made{t, r})
		if new := i + 1 - there; new > 0 && new%20 == 0 {
			fmt.Fprintf(m.stdout, "%d of %d evaluations, the last in %.1f s\n", i+1, len(turns), r.Seconds)
		}
	}
	fmt.Fprintf(m.stdout, "%d evaluations, %d of them made earlier, on %s servers\n", len(all), there, all[0].Provenance)
	return all, nil
}

// one makes an evaluation. One of an arm with kills is killed at a random moment first,
// unless it was already.
func (m *maker) one(ctx context.Context, t turn) (*evaluated.Result, error) {
	t.Workers = m.workers
	if t.arm.prior {
		t.Flags = m.prior
	}
	if _, err := os.Stat(filepath.Join(m.program.Folder(t.Order), "evaluation.json")); t.arm.killed && errors.Is(err, os.ErrNotExist) {
		moment := seed.Root(t.Seed).Child("kill").Stream()
		if _, err := m.program.Strike(ctx, t.Order, moment.Float64()*m.pace*float64(t.Budget)); err != nil {
			return nil, err
		}
	}
	return m.program.Run(ctx, t.Order)
}

// header are the columns of the file of runs.
var header = []string{
	"budget", "arm", "round", "policy", "seed", "provenance", "pilots", "weight", "estimate", "standard_error", "low", "high", "rollouts", "extra_rollouts", "continued", "asked_again", "too_high", "too_low",
	"completion_tokens", "wasted_tokens", "seconds", "barrier_seconds", "startup_seconds", "sessions",
}

// writeRuns writes all runs into a CSV file.
func writeRuns(path string, runs []made) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	rows := csv.NewWriter(file)
	rows.Write(header) // errors: see rows.Error
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, r := range runs {
		rows.Write([]string{
			strconv.Itoa(r.Result.Budget), r.arm.name, strconv.Itoa(r.round), r.Result.Policy, strconv.FormatUint(r.Result.Seed, 10), r.Provenance, strconv.Itoa(r.Design.Pilots), number(r.Design.Weight),
			number(r.Estimate), number(r.StandardError), number(r.Interval[0]), number(r.Interval[1]), strconv.Itoa(r.Rollouts), strconv.Itoa(r.Extra), strconv.Itoa(r.Losses.Continued), strconv.Itoa(r.Losses.AskedAgain), number(r.Losses.TooHigh), number(r.Losses.TooLow),
			strconv.FormatInt(r.Tokens.Completion, 10), strconv.FormatInt(r.Tokens.Wasted, 10),
			number(r.Seconds), number(r.Barrier), number(r.Startup), strconv.Itoa(r.Sessions),
		})
	}
	rows.Flush()
	return errors.Join(rows.Error(), file.Close())
}
