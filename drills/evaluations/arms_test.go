//go:build drill

package evaluations_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"speceval/drills/drill"
	"sync"
	"time"

	"speceval/internal/evaluation"
	"speceval/internal/profile"
	"speceval/internal/seed"
)

// arm is evaluations of one kind: of a profile by one policy at one budget, by the seeds
// from 1 on.
type arm struct {
	what    string
	profile profile.Profile
	policy  string
	budget  int
	target  float64  // standard error to reach, in the place of the budget; 0: none
	flags   []string // of the program
	out     string   // output folder

	leastKills, mostKills int // of an evaluation; 0: it is not killed
	pauses                int // of an evaluation at most, in a row: all servers may be away
	quiet                 int // evaluations that are not killed and come first, one at a time; one at least

	base           int  // budget of the evaluations that it extends; 0: none
	extended, then *arm // the arm that it extends, and the one that extends it; nil: none

	results    []*evaluation.Result // by seed
	fast, slow []float64            // pass rates of the halves of pilots that were answered faster and slower; of arms without kills
	setup      *evaluation.Setup    // of the first evaluation; others have its design
	startups   []float64            // of the quiet evaluations: seconds until the first request
	mu         sync.Mutex
	spans      []float64 // seconds that evaluations have taken so far
	hits       int       // kills that met a running process
}

// lastMoment is the share of the usual time of an evaluation within which it is killed:
// few are over before.
const lastMoment = 0.85

// order is the evaluation of an arm with the i-th seed.
func (b *bench) order(a *arm, job, i int) order {
	o := order{policy: a.policy, budget: a.budget, targetSE: a.target, extends: a.base, seed: uint64(i) + 1, workers: b.workers(job), flags: a.flags}
	if a.target > 0 {
		o.budget = 0
	}
	return o
}

// make makes n evaluations of an arm, several at a time after the quiet ones, and those
// that extend them. Kills are at random moments.
func (b *bench) make(a *arm, n int) {
	begin := time.Now()
	for at := a; at != nil; at = at.then {
		at.results, at.fast, at.slow = make([]*evaluation.Result, n), make([]float64, n), make([]float64, n)
	}
	for i := range a.quiet {
		b.OK(b.evaluate(b.Ctx, a, 0, i, nil))
	}
	first := 0
	if a.mostKills == 0 {
		first = a.quiet
	}
	streams := seed.Root(drill.Seed()).Child("drill").Child("kills").Child(a.what).Stream()
	b.OK(inParallel(b.Ctx, b.jobs, first, n, func(ctx context.Context, job, i int) error {
		random := streams.At(uint64(i))
		return b.evaluate(ctx, a, job, i, &random)
	}))
	for at := a; at != nil; at = at.then {
		b.Logf("%s: %d evaluations, %d kills met a running process", at.what, n, at.hits)
	}
	b.Logf("in %.0f s", time.Since(begin).Seconds())
}

// evaluate makes the i-th evaluation of an arm, and the one that extends it. What it
// leaves is checked and removed. It is killed at random moments, unless random is nil.
func (b *bench) evaluate(ctx context.Context, a *arm, job, i int, random *seed.Stream) error {
	program, order := b.program(a), b.order(a, job, i)
	if random != nil && a.mostKills > 0 {
		for range a.leastKills + int(random.Float64()*float64(a.mostKills-a.leastKills+1)) {
			hit, err := program.strike(ctx, order, lastMoment*random.Float64()*a.usual())
			if err != nil {
				return err
			}
			a.hit(hit)
		}
	}
	r, err := program.run(ctx, order)
	if err != nil {
		return err
	}
	folder := program.folder(order)
	if a.mostKills == 0 {
		if a.fast[i], a.slow[i], err = completion(folder); err != nil {
			return err
		}
	}
	if err := recount(folder, r, b.answers[a.profile.Benchmark]); err != nil {
		return err
	}
	setup, err := evaluation.ReadSetup(folder)
	if err != nil {
		return err
	}
	if err := checkAllocation(r, setup, b.prior); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	if err := a.take(i, r, setup, random == nil); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	if a.then != nil {
		if err := b.evaluate(ctx, a.then, job, i, random); err != nil {
			return err
		}
	}
	return os.RemoveAll(folder)
}

// take keeps an evaluation. Forecasts are of one design, which all must have.
func (a *arm) take(i int, r *evaluation.Result, setup *evaluation.Setup, quiet bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.setup == nil {
		a.setup = setup
	}
	if is, was := setup.Design, a.setup.Design; is.Pilots != was.Pilots || is.Weight != was.Weight || !slices.Equal(is.Fractions, was.Fractions) {
		return fmt.Errorf("the design is %+v, of others %+v", is, was)
	}
	if quiet {
		a.startups = append(a.startups, r.Startup)
	}
	a.results[i] = r
	a.spans = append(a.spans, r.Seconds)
	return nil
}

// hit counts a kill that met a running process.
func (a *arm) hit(met bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if met {
		a.hits++
	}
}

// usual is the median time that evaluations have taken so far.
func (a *arm) usual() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	median, _ := medianAndMost(a.spans)
	return median
}

// row sums the arm up.
func (a *arm) row(predicted prediction) *row {
	r := newRow(a.what, a.budget, a.profile, a.results, 0)
	r.predicted, r.kills, r.startups, r.target = predicted, a.hits, a.startups, a.target
	if a.target > 0 {
		r.budget = 0
	}
	r.fast, _ = meanOf(a.fast)
	r.slow, _ = meanOf(a.slow)
	return r
}

// inParallel does something for all numbers from first up to n, several at a time.
// The first error ends it.
func inParallel(ctx context.Context, places, first, n int, do func(ctx context.Context, job, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var jobs sync.WaitGroup
	for job := range places {
		jobs.Go(func() {
			finished := false
			defer func() {
				if !finished { // the test has ended the job
					cancel(errors.New("a job has ended"))
				}
			}()
			for i := range numbers {
				if err := do(ctx, job, i); err != nil {
					cancel(err)
				}
			}
			finished = true
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
