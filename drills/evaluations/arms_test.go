//go:build drill

package evaluations_test

import (
	"os"
	"slices"
	"sync"
	"time"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/profile"
	"speceval/internal/seed"
)

// arm is evaluations of one kind: of a profile by one policy at one budget, by the seeds
// from 1 on.
type arm struct {
	order   // without seeds and servers
	what    string
	profile profile.Profile
	out     string // output folder

	leastKills, mostKills int // of an evaluation; 0: it is not killed
	pauses                int // of an evaluation at most, in a row: all servers may be away
	quiet                 int // evaluations that are not killed and come first, one at a time; one at least

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

// make makes n evaluations of an arm, several at a time after the quiet ones, and those
// that extend them. Kills are at random moments.
func (b *bench) make(a *arm, n int) {
	b.Helper()
	begin := time.Now()
	for at := a; at != nil; at = at.then {
		at.results, at.fast, at.slow = make([]*evaluation.Result, n), make([]float64, n), make([]float64, n)
	}
	for i := range a.quiet {
		b.evaluate(a, 0, i, nil)
	}
	first := 0
	if a.mostKills == 0 {
		first = a.quiet
	}
	streams := seed.Root(drill.Seed()).Child("drill").Child("kills").Child(a.what).Stream()
	inParallel(b.Lab, *jobs, first, n, func(l *drill.Lab, job, i int) {
		random := streams.At(uint64(i))
		b.on(l).evaluate(a, job, i, &random)
	})
	for at := a; at != nil; at = at.then {
		b.Logf("%s: %d evaluations, %d kills met a running process", at.what, n, at.hits)
	}
	b.Logf("in %.0f s", time.Since(begin).Seconds())
}

// evaluate makes the i-th evaluation of an arm, and the one that extends it. What it
// leaves is checked and removed. It is killed at random moments, unless random is nil.
func (b *bench) evaluate(a *arm, job, i int, random *seed.Stream) {
	b.Helper()
	program, order := b.program(a), a.order
	order.seed, order.workers = uint64(i)+1, b.urls[job*replicas:(job+1)*replicas]
	if random != nil && a.mostKills > 0 {
		for range a.leastKills + int(random.Float64()*float64(a.mostKills-a.leastKills+1)) {
			hit := program.strike(order, lastMoment*random.Float64()*a.usual())
			a.mu.Lock()
			a.hits += one(hit)
			a.mu.Unlock()
		}
	}
	r := program.run(order)
	folder := program.folder(order)
	if a.mostKills == 0 {
		a.fast[i], a.slow[i] = completion(b.Lab, folder)
	}
	recount(b.Lab, folder, r, b.answers[a.profile.Benchmark])
	setup, err := evaluation.ReadSetup(folder)
	b.OK(err)
	checkAllocation(b.Lab, folder, r, setup, b.prior)
	b.take(a, i, r, setup, random == nil)
	if a.then != nil {
		b.evaluate(a.then, job, i, random)
	}
	b.OK(os.RemoveAll(folder))
}

// take keeps an evaluation. Forecasts are of one design, which all must have.
func (b *bench) take(a *arm, i int, r *evaluation.Result, setup *evaluation.Setup, quiet bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.setup == nil {
		a.setup = setup
	}
	is, was := setup.Design, a.setup.Design
	if is.Pilots != was.Pilots || is.Weight != was.Weight || !slices.Equal(is.Fractions, was.Fractions) {
		b.Errorf("the design is %+v, of others %+v", is, was)
	}
	if quiet {
		a.startups = append(a.startups, r.Startup)
	}
	a.results[i] = r
	a.spans = append(a.spans, r.Seconds)
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
	r.predicted, r.kills, r.startups, r.target = predicted, a.hits, a.startups, a.targetSE
	r.fast, _ = meanOf(a.fast)
	r.slow, _ = meanOf(a.slow)
	return r
}
