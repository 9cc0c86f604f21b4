package estimate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
)

// prior is the paper's.
var prior = must(neyman.NewPrior(16))

// two is a task with a pilot of weight w and a continuation.
func two(pilots, pilotPasses, continuations, continuationPasses int, weight float64) estimate.Task {
	return estimate.Task{Stages: []estimate.Stage{estimate.Binary(pilots, pilotPasses, weight), estimate.Binary(continuations, continuationPasses, 1-weight)}}
}

// one is a task of Uniform.
func one(rollouts, passes int) estimate.Task {
	return estimate.Task{Stages: []estimate.Stage{estimate.Binary(rollouts, passes, 1)}}
}

// Uniform is a pilot and nothing else: its error is that of b rollouts a task.
func TestUniformIsItsOwnEquivalent(t *testing.T) {
	m := must(estimate.Of(prior, []estimate.Task{one(16, 3), one(16, 16), one(16, 9)}))
	if u := m.Uniform; math.Abs(u.Value-16) > 1e-9 || math.Abs(u.Low-16) > 1e-6 || math.Abs(u.High-16) > 1e-6 || u.Verdict(16) != 0 || math.Abs(m.Value-28.0/48) > 1e-15 {
		t.Errorf("%+v", m)
	}
}

// Where all rollouts agree the interval has the estimate at its end, and a length
// that falls with the rollouts.
func TestUnanimousRolloutsLeaveDoubt(t *testing.T) {
	last := 1.0
	for _, b := range []int{2, 8, 64} {
		var none, every []estimate.Task
		for range 30 {
			none, every = append(none, one(b, 0)), append(every, one(b, b))
		}
		low := must(estimate.Of(prior, none))
		high := must(estimate.Of(prior, every))
		if low.Value != 0 || low.Low != 0 || low.High <= 0 || low.High >= last || high.Value != 1 || high.High != 1 {
			t.Errorf("b = %d: %v to %v, and %v to %v", b, low.Low, low.High, high.Low, high.High)
		}
		if math.Abs(low.High-(1-high.Low)) > 1e-9 {
			t.Errorf("b = %d: none passed up to %v, all passed from %v: not the same mirrored", b, low.High, high.Low)
		}
		last = low.High
	}
}

func TestBadNumbersAreRefused(t *testing.T) {
	good := two(2, 1, 1, 1, 0.5)
	stage := func(s estimate.Stage) estimate.Task { return estimate.Task{Stages: []estimate.Stage{s}} }
	shared := func(share float64) estimate.Task { return estimate.Task{Stages: good.Stages, Share: share} }
	for name, task := range map[string]estimate.Task{
		"no stage":              {},
		"no pilot":              two(0, 0, 1, 0, 0.5),
		"no continuation":       two(1, 0, 0, 0, 0.5),
		"too many passes":       two(1, 2, 1, 0, 0.5),
		"negative passes":       two(1, 0, 1, -1, 0.5),
		"negative rollouts":     two(-1, 0, 1, 0, 0),
		"weight above one":      two(1, 0, 1, 0, 1.1),
		"weight below zero":     two(1, 0, 1, 0, -0.1),
		"weight not a number":   two(1, 0, 1, 0, math.NaN()),
		"weights of 0.9":        stage(estimate.Binary(2, 1, 0.9)),
		"rewards not a number":  stage(estimate.Stage{Rollouts: 2, Rewards: math.NaN(), Weight: 1}),
		"squares not a number":  stage(estimate.Stage{Rollouts: 2, Rewards: 1, Squares: math.NaN(), Weight: 1}),
		"squares beyond sums":   stage(estimate.Stage{Rollouts: 2, Rewards: 1, Squares: 1.1, Weight: 1}),
		"squares of no rewards": stage(estimate.Stage{Rollouts: 2, Rewards: 1, Squares: 0.4, Weight: 1}),
		"negative share":        shared(-1),
		"share not a number":    shared(math.NaN()),
		"endless share":         shared(math.Inf(1)),
	} {
		if _, err := estimate.Of(prior, []estimate.Task{good, task}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := estimate.Of(prior, nil); err == nil {
		t.Error("no tasks: no error")
	}
}

// Stages with weights of their own, a task that has finished early, shares and graded
// rewards: the estimate is Σ share·Σ c·X.
func TestStagesAndShares(t *testing.T) {
	early := estimate.Task{Share: 3, Stages: []estimate.Stage{{Rollouts: 2, Rewards: 1.5, Squares: 1.25, Weight: 0.25}, {Rollouts: 1, Rewards: 0.5, Squares: 0.25, Weight: 0.75}, {}}}
	late := estimate.Task{Share: 1, Stages: []estimate.Stage{estimate.Binary(2, 1, 0.2), estimate.Binary(3, 1, 0.3), estimate.Binary(4, 3, 0.5)}}
	m := must(estimate.Of(prior, []estimate.Task{early, late}))
	values := []float64{0.25*0.75 + 0.75*0.5, 0.2/2 + 0.3/3 + 0.5*0.75}
	shrinkages := []float64{0.25*0.25/2 + 0.75*0.75, 0.04/2 + 0.09/3 + 0.25/4}
	posterior := 0.0
	for i, share := range []float64{0.75, 0.25} {
		if math.Abs(m.Tasks[i].Value-values[i]) > 1e-15 {
			t.Errorf("task %d: %v, want %v", i, m.Tasks[i].Value, values[i])
		}
		posterior += share * share * m.Tasks[i].Variance * shrinkages[i]
	}
	if want := 0.75*values[0] + 0.25*values[1]; math.Abs(m.Value-want) > 1e-15 {
		t.Errorf("estimate %v, want %v", m.Value, want)
	}
	single := 0.25*0.25/2*0.125 + 0.75*0.75*0.25*0.25 // of the early task: its stages' variances are 1/8 and (1/2−3/4)²
	sampled := 0.75*0.75*single + 0.25*0.25*(0.04/2*0.5+0.09/3/3+0.25/4*0.25)
	if want := math.Sqrt(max(posterior, sampled)); math.Abs(m.StandardError-want) > 1e-12 {
		t.Errorf("standard error %v, want %v", m.StandardError, want)
	}
}

// plan is how an evaluation in two stages spends its budget: a pilot of a weight, and the rest.
type plan struct {
	Budget, Pilots int
	Weight         float64
}

// evaluate is one evaluation by HBN of tasks with the given probabilities.
func evaluate(ps []float64, p plan, random *rand.Rand) []estimate.Task {
	tasks := make([]estimate.Task, len(ps))
	counts := make([]int, p.Pilots+1)
	pass := func(q float64, n int) (s int) {
		for range n {
			if random.Float64() < q {
				s++
			}
		}
		return s
	}
	passes := make([]int, len(ps))
	for i, q := range ps {
		passes[i] = pass(q, p.Pilots)
		counts[passes[i]]++
	}
	by := prior.Pilot(p.Pilots).Scores(counts, prior.NewWork())
	scores := make([]float64, len(ps))
	for i := range scores {
		scores[i] = by.At(passes[i])
	}
	allocation := must(neyman.Allocate(scores, len(ps)*(p.Budget-p.Pilots)))
	for i, l := range allocation {
		tasks[i] = two(p.Pilots, passes[i], l, pass(ps[i], l), p.Weight)
	}
	return tasks
}

// Over profiles as the prior has them, the posterior's variances average to squared
// errors, in spite of an allocation that follows the pilot; the larger of two that both
// do is somewhat more.
func TestErrorsAreCalibratedUnderThePrior(t *testing.T) {
	p := plan{Budget: 8, Pilots: 3, Weight: 0.3}
	random := rand.New(rand.NewPCG(5, 6))
	nothing := must(prior.Update(make([]int, 30), make([]float64, 30)))
	const evaluations = 3000
	ps := make([]float64, 30)
	var stated, posterior, seen, fourth, bias float64
	for range evaluations {
		nothing.Mixture().Draw(random, ps)
		truth := 0.0
		for _, q := range ps {
			truth += q / 30
		}
		tasks := evaluate(ps, p, random)
		m := must(estimate.Of(prior, tasks))
		away := m.Value - truth
		for i, task := range tasks {
			posterior += m.Tasks[i].Variance * (0.09/3 + 0.49/float64(task.Stages[1].Rollouts)) / 900 / evaluations
		}
		stated += m.StandardError * m.StandardError / evaluations
		seen += away * away / evaluations
		fourth += math.Pow(away, 4) / evaluations
		bias += away / evaluations
	}
	if se := math.Sqrt((fourth - seen*seen) / evaluations); math.Abs(posterior-seen) > 4*se || stated < posterior || stated > 1.1*posterior {
		t.Errorf("stated variance %v, by the posterior %v, seen %v ± %v", stated, posterior, seen, se)
	}
	if se := math.Sqrt(seen / evaluations); math.Abs(bias) > 4*se {
		t.Errorf("bias %v ± %v", bias, se)
	}
}

// TestErrorByDonors: a donor that knows which tasks are certain makes the error of few
// rollouts smaller, the value is the same, and without donors it is Of.
func TestErrorByDonors(t *testing.T) {
	const n = 40
	donor := informed.Donor{Name: "earlier", Passes: make([]int, n), Rollouts: slices.Repeat([]int{50}, n)}
	var tasks []estimate.Task
	for i := range n {
		stages := []estimate.Stage{estimate.Binary(1, 1, 0.5), estimate.Binary(1, 1, 0.5)}
		donor.Passes[i] = 50
		if i%4 == 0 {
			stages = []estimate.Stage{estimate.Binary(4, 2, 0.3), estimate.Binary(16, 7+i%3, 0.7)}
			donor.Passes[i] = 25
		}
		tasks = append(tasks, estimate.Task{Stages: stages})
	}
	by := func(donors ...informed.Donor) estimate.Mean {
		return must(estimate.Of(prior, tasks, priorOf(n, donors...)))
	}
	plain := must(estimate.Of(prior, tasks))
	if none := by(); none.Value != plain.Value || math.Abs(none.StandardError/plain.StandardError-1) > 0.01 {
		t.Errorf("without donors %v ± %v, want %v ± %v", none.Value, none.StandardError, plain.Value, plain.StandardError)
	}
	wrong := donor
	wrong.Passes = slices.Clone(donor.Passes)
	slices.Reverse(wrong.Passes)
	wrong.Passes = append(wrong.Passes[1:], 25)
	right, adverse := by(donor), by(wrong)
	if right.Value != plain.Value || right.StandardError > 0.9*plain.StandardError {
		t.Errorf("by a donor %v ± %v, without %v ± %v", right.Value, right.StandardError, plain.Value, plain.StandardError)
	}
	if adverse.StandardError < 0.95*plain.StandardError {
		t.Errorf("by a donor that is wrong ± %v, without ± %v", adverse.StandardError, plain.StandardError)
	}
	if _, err := estimate.Of(prior, tasks, priorOf(n+1)); err == nil {
		t.Error("no error for a prior of other tasks")
	}
}

// TestBenchmarksOfASuiteErrIndependently has two benchmarks whose tasks all pass, so that the
// posteriors alone have an error: the square is the sum of both, by their weights.
func TestBenchmarksOfASuiteErrIndependently(t *testing.T) {
	var all []estimate.Task
	var want float64
	var known []*informed.Prior
	for k, n := range []int{4, 9} {
		weight := []float64{0.3, 0.7}[k]
		var own []estimate.Task
		for range n {
			own = append(own, estimate.Task{Stages: []estimate.Stage{estimate.Binary(2+k, 2+k, 0.4), estimate.Binary(5, 5, 0.6)}, Share: weight / float64(n)})
		}
		cold := priorOf(n)
		m := must(estimate.Of(prior, own, cold))
		want += weight * weight * m.StandardError * m.StandardError
		all, known = append(all, own...), append(known, cold)
	}
	m, err := estimate.Of(prior, all, known...)
	if err != nil || m.Value != 1 || math.Abs(m.StandardError*m.StandardError/want-1) > 1e-9 {
		t.Errorf("%v ± %v, want 1 ± %v (%v)", m.Value, m.StandardError, math.Sqrt(want), err)
	}
	if _, err := estimate.Of(prior, all, known[:1]...); err == nil {
		t.Error("no error for a prior of the first benchmark alone")
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheEstimateIsThePapers(t *testing.T) {
	m := must(estimate.Of(prior, []estimate.Task{two(4, 1, 10, 4, 0.3), two(4, 4, 2, 1, 0.3)}))
	if want := (0.3*0.25 + 0.7*0.4 + 0.3 + 0.7*0.5) / 2; math.Abs(m.Value-want) > 1e-15 {
		t.Errorf("estimate %v, want %v", m.Value, want)
	}
	posterior, sampled := 0.0, (0.09/4*0.25+0.49/10*0.24*10/9+0.49/2*0.5)/4
	for i, l := range []float64{10, 2} {
		posterior += m.Tasks[i].Variance * (0.09/4 + 0.49/l) / 4
	}
	if sampled <= posterior || math.Abs(m.StandardError-math.Sqrt(sampled)) > 1e-15 {
		t.Errorf("standard error %v, want %v, more than the posterior's %v", m.StandardError, math.Sqrt(sampled), math.Sqrt(posterior))
	}
	if !(0 < m.Low && m.Low < m.Value && m.Value < m.High && m.High < 1) {
		t.Errorf("interval %v to %v about %v", m.Low, m.High, m.Value)
	}
}
