package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"speceval/drills/evaluated"
	"speceval/internal/evaluation"
	"speceval/internal/seed"
)

// arm is evaluations of one kind, all of which are killed.
type arm struct {
	series
	what   string
	flags  []string // of the program
	target float64  // standard error to reach, in the place of the budget; 0: none
	out    string   // output folder
	kills  int      // of an evaluation at most, one at least
	pauses int      // of an evaluation at most, one after the other: all servers may be away
	quiet  int      // evaluations beforehand that are not killed, one at a time; one at least

	base           int  // budget of the evaluations that it extends; 0: none
	extended, then *arm // the arm that it extends, and the one that extends it; nil: none

	setup    *evaluation.Setup // of the first evaluation; others have its design
	startups []float64         // of the quiet evaluations: seconds until the first request
	mu       sync.Mutex
	spans    []float64 // seconds that evaluations have taken so far
	hits     int       // kills that met a running process

	// Means over evaluations: rollouts that count, of each kind, and the bounds.
	continued, again         float64
	tooHigh, tooLow, seconds float64
}

// lastMoment is the share of the usual time of an evaluation within which it is killed:
// few are over before.
const lastMoment = 0.85

// armed is the evaluation of an arm with the i-th seed.
func (l *lab) armed(a *arm, job, i int) evaluated.Order {
	o := l.order(&a.series, job, i)
	o.TargetSE, o.Extends, o.Flags = a.target, a.base, a.flags
	if a.target > 0 {
		o.Budget = 0
	}
	return o
}

// killed makes the evaluations of an arm, with seeds from 1 to n, several at a time.
func (l *lab) killed(ctx context.Context, a *arm, n int) error {
	begin := time.Now()
	for at := a; at != nil; at = at.then {
		at.results = make([]*evaluated.Result, n)
	}
	for i := range a.quiet {
		if err := l.evaluate(ctx, a, 0, i, nil); err != nil {
			return err
		}
	}
	streams := seed.Root(l.seed).Child("drill").Child("kills").Child(a.what).Stream()
	err := l.inParallel(ctx, 0, n, func(ctx context.Context, job, i int) error {
		random := streams.At(uint64(i))
		return l.evaluate(ctx, a, job, i, &random)
	})
	if err != nil {
		return err
	}
	for at := a; at != nil; at = at.then {
		at.sum()
		fmt.Fprintf(l.stdout, "%s: %d evaluations with %d kills\n", at.what, n, at.hits)
	}
	fmt.Fprintf(l.stdout, "in %.0f s\n", time.Since(begin).Seconds())
	return nil
}

// evaluate makes the i-th evaluation of an arm, and the one that extends it. It is killed
// at random moments, unless random is nil.
func (l *lab) evaluate(ctx context.Context, a *arm, job, i int, random *seed.Stream) error {
	program, order := l.program(a.profile, a.out), l.armed(a, job, i)
	program.Pauses = a.pauses
	if random != nil {
		for range 1 + int(random.Float64()*float64(a.kills)) {
			hit, err := program.Strike(ctx, order, lastMoment*random.Float64()*a.usual())
			if err != nil {
				return err
			}
			a.hit(hit)
		}
	}
	r, err := program.Run(ctx, order)
	if err != nil {
		return err
	}
	folder := program.Folder(order)
	setup, err := l.inspect(folder, &a.series, r)
	if err != nil {
		return err
	}
	if err := a.take(i, r, setup, random == nil); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	if a.then != nil {
		if err := l.evaluate(ctx, a.then, job, i, random); err != nil {
			return err
		}
	}
	return os.RemoveAll(folder)
}

// take keeps an evaluation. Forecasts are of one design, which all must have.
func (a *arm) take(i int, r *evaluated.Result, setup *evaluation.Setup, quiet bool) error {
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
	median, _ := middle(a.spans)
	return median
}

// sum works out the means of an arm.
func (a *arm) sum() {
	n := float64(len(a.results))
	for _, r := range a.results {
		a.continued += float64(r.Losses.Continued) / n
		a.again += float64(r.Losses.AskedAgain) / n
		a.tooHigh += r.Losses.TooHigh / n
		a.tooLow += r.Losses.TooLow / n
		a.seconds += r.Seconds / n
	}
}

// resumed is how many evaluations took more than one process.
func (a *arm) resumed() (n int) {
	for _, r := range a.results {
		if r.Sessions > 1 {
			n++
		}
	}
	return n
}
