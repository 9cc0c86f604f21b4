package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"speceval/drills/evaluated"
	"speceval/internal/evaluation"
	"speceval/internal/seed"
)

// make makes the evaluations of a series, with seeds from 1 to n, several at a time
// but for the first, which the design is computed for. What they leave is checked
// and removed.
func (l *lab) make(ctx context.Context, s *series, n int) error {
	s.results = make([]*evaluated.Result, n)
	s.fast, s.slow = make([]float64, n), make([]float64, n)
	if err := l.one(ctx, s, 0, 0); err != nil {
		return err
	}
	return l.inParallel(ctx, 1, n, func(ctx context.Context, job, i int) error { return l.one(ctx, s, job, i) })
}

// inParallel does something for all numbers from first up to n, several at a time.
// The first error ends it.
func (l *lab) inParallel(ctx context.Context, first, n int, do func(ctx context.Context, job, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var jobs sync.WaitGroup
	for job := range l.jobs {
		jobs.Go(func() {
			for i := range numbers {
				if err := do(ctx, job, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
feed:
	for i := first; i < n; i++ {
		select {
		case numbers <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(numbers)
	jobs.Wait()
	return context.Cause(ctx)
}

// order is the evaluation of a series with the i-th seed.
func (l *lab) order(s *series, job, i int) evaluated.Order {
	return evaluated.Order{Policy: s.policy, Budget: s.budget, Seed: uint64(i) + 1, Workers: l.workers(job)}
}

// one makes an evaluation.
func (l *lab) one(ctx context.Context, s *series, job, i int) (err error) {
	program, order := l.program(s.profile, l.out()), l.order(s, job, i)
	r, err := program.Run(ctx, order)
	if err != nil {
		return err
	}
	s.results[i] = r
	folder := program.Folder(order)
	if s.fast[i], s.slow[i], err = evaluated.Completion(folder); err != nil {
		return err
	}
	if _, err := l.inspect(folder, s, r); err != nil {
		return err
	}
	return os.RemoveAll(folder)
}

// inspect checks what an evaluation has left: that its files recount to its result, and
// that every stage follows from the rewards of those before it.
func (l *lab) inspect(folder string, s *series, r *evaluated.Result) (*evaluation.Setup, error) {
	if err := evaluated.Recount(folder, r, l.answers[s.profile.Benchmark]); err != nil {
		return nil, err
	}
	setup, err := evaluation.ReadSetup(folder)
	if err != nil {
		return nil, err
	}
	if err := evaluated.CheckAllocation(r, setup, l.prior); err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return setup, nil
}

// kills is what came of evaluations that were killed.
type kills struct {
	evaluations, killed int   // kills that hit a running process
	resumed             int   // evaluations that took more than one process
	same                error // as undisturbed ones
}

// mostKills is how often an evaluation is killed at most.
const mostKills = 3

// disturb makes the first n evaluations of a series again: they are killed at
// random moments, and go on.
func (l *lab) disturb(ctx context.Context, s *series, n int) (kills, error) {
	n = min(n, len(s.results))
	killed, sessions, faults := make([]int, n), make([]int, n), make([]error, n)
	streams := seed.Root(l.seed).Child("drill").Child("kills").Stream()
	err := l.inParallel(ctx, 0, n, func(ctx context.Context, job, i int) error {
		random := streams.At(uint64(i))
		program, order := l.program(s.profile, l.out()), l.order(s, job, i)
		order.Flags = []string{"--on-loss", "again"} // this fleet repeats an answer by its seed
		for range mostKills {
			hit, err := program.Strike(ctx, order, random.Float64()*s.results[i].Seconds)
			if err != nil {
				return err
			}
			if hit {
				killed[i]++
			}
		}
		r, err := program.Run(ctx, order)
		if err != nil {
			return err
		}
		sessions[i], faults[i] = r.Sessions, evaluated.Same(s.results[i], r)
		folder := program.Folder(order)
		if _, err := l.inspect(folder, s, r); err != nil {
			return err
		}
		return os.RemoveAll(folder)
	})
	k := kills{evaluations: n}
	for i := range n {
		k.killed += killed[i]
		if sessions[i] > 1 {
			k.resumed++
		}
		if faults[i] != nil {
			k.same = fmt.Errorf("seed %d: %w", i+1, faults[i])
		}
	}
	return k, err
}
