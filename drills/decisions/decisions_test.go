//go:build drill

// Package decisions_test is `make drill-decisions`: what evaluations are turned into, on
// evaluations by HBN that it draws of the published profiles. Gates and intervals of pass^k
// may be wrong as often as they state.
package decisions_test

import (
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"speceval/data"
	"speceval/drills/drill"
	"speceval/internal/pilot"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/estimate"
	"speceval/method/neyman"
	"speceval/method/staged"
)

var only = flag.String("part", "", "gate or passk; empty: both")

func TestDecisions(t *testing.T) {
	l := drill.New(t, 4*time.Hour)
	profiles, _, err := profile.Evaluated(must(profile.Parse(data.Profiles(), data.ProfilesName)))
	l.OK(err)
	number := l.Often(20, 1000)
	if l.Small {
		profiles = slices.DeleteFunc(profiles, func(p profile.Profile) bool { return p.N() > 30 })
	}
	prior := must(neyman.NewPrior(16))
	made := 0
	for _, part := range []struct {
		name string
		do   func(s *study)
	}{{"gate", (*study).gate}, {"passk", (*study).passk}} {
		if drill.Wanted(*only, part.name) {
			made++
			l.Sub(part.name, func(l *drill.Lab) { part.do(&study{l, profiles, prior, number}) })
		}
	}
	if made == 0 {
		l.Fatalf("-part %q: want gate or passk", *only)
	}
}

// study is what all parts have in common.
type study struct {
	*drill.Lab
	profiles []profile.Profile
	prior    *neyman.Prior
	number   int // of evaluations of each profile in each setting
}

// check and must end the drill with an error that is no fault of a method.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[R any](result R, err error) R {
	check(err)
	return result
}

// collect does something for every profile, some at a time, with a random stream that is
// the profile's own under a label, and returns the results.
func collect[R any](s *study, label string, do func(p profile.Profile, random *seed.Stream) R) []R {
	root := seed.Root(drill.Seed()).Child("drill").Child("decisions").Child(label)
	results := make([]R, len(s.profiles))
	places := make(chan bool, runtime.NumCPU())
	var group sync.WaitGroup
	for k, p := range s.profiles {
		group.Go(func() {
			places <- true
			defer func() { <-places }()
			random := root.Child(p.Name()).Stream()
			results[k] = do(p, &random)
		})
	}
	group.Wait()
	return results
}

// share is a share with its Monte Carlo error, in percent.
func share(x, se float64) string { return fmt.Sprintf("%.1f%% ± %.1f", 100*x, 100*se) }

// plan is how an evaluation spends a budget of rollouts per task: HBN with a pilot of
// about three eighths of it, which is near the paper's designs.
func plan(budget int) staged.Plan {
	return staged.Plan{Pilots: max(1, budget*3/8), Weight: 0.3, Fractions: []float64{1}}
}

// evaluator draws evaluations of tasks. It belongs to one goroutine.
type evaluator struct {
	partial *neyman.Partial
	work    *neyman.Work
}

func (s *study) evaluator() *evaluator {
	return &evaluator{partial: s.prior.Partial(1), work: s.prior.NewWork()}
}

// evaluate draws an evaluation of tasks with the probabilities ps.
func (e *evaluator) evaluate(ps []float64, budget int, plan staged.Plan, random *seed.Stream) []estimate.Task {
	return e.spend(must(staged.New(len(ps), budget, plan)), make([]estimate.Task, len(ps)), ps, random)
}

// extend extends an evaluation by as many rollouts as it has, one for one in the mean:
// half of the weight is that of the old ones.
func (e *evaluator) extend(tasks []estimate.Task, ps []float64, more int, random *seed.Stream) []estimate.Task {
	past, extended := staged.Past{}, make([]estimate.Task, len(ps))
	for i, t := range tasks {
		mean, shrinkage := 0.0, 0.0
		for _, s := range t.Stages {
			mean += s.Weight * s.Rewards / float64(s.Rollouts)
			shrinkage += s.Weight * s.Weight / float64(s.Rollouts)
			s.Weight /= 2
			extended[i].Stages = append(extended[i].Stages, s)
		}
		past.Means, past.Shrinkage = append(past.Means, mean), append(past.Shrinkage, shrinkage)
	}
	return e.spend(must(staged.Extend(past, len(ps)*more, staged.Plan{Weight: 0.5, Fractions: []float64{1}})), extended, ps, random)
}

// spend draws the stages of an evaluation, allocated by all that was seen of the tasks.
func (e *evaluator) spend(stages *staged.Stages, tasks []estimate.Task, ps []float64, random *seed.Stream) []estimate.Task {
	for !stages.Done() {
		observed, successes, scores := make([]int, len(ps)), make([]int, len(ps)), make([]float64, len(ps))
		for i, t := range tasks {
			for _, s := range t.Stages {
				observed[i] += s.Rollouts
				successes[i] += int(s.Rewards)
			}
		}
		if observed[0] > 0 {
			e.partial.Scores(observed, successes, e.work, scores)
			check(stages.Decide(scores))
		}
		passes := make([]int, len(ps))
		for i, n := range stages.Sizes() {
			passes[i] = pilot.Binomial(n, ps[i], random)
			tasks[i].Stages = append(tasks[i].Stages, estimate.Binary(n, passes[i], stages.Weights()[i]))
		}
		check(stages.Observe(passes))
	}
	return tasks
}

// probabilities are those of a profile's tasks.
func probabilities(p profile.Profile) []float64 {
	ps := make([]float64, p.N())
	for i := range ps {
		ps[i] = p.P(i)
	}
	return ps
}

func average(ps []float64) (mean float64) {
	for _, p := range ps {
		mean += p / float64(len(ps))
	}
	return mean
}

// shift moves the logits of all probabilities by the same number, so that their mean
// moves by the given one, as far as possible.
func shift(ps []float64, by float64) {
	moved := func(x float64) []float64 {
		all := slices.Clone(ps)
		for i, p := range all {
			p = min(0.999, max(0.001, p)) // a thousand rollouts cannot tell 0 and 1 from these
			all[i] = 1 / (1 + math.Exp(-math.Log(p/(1-p))-x))
		}
		return all
	}
	goal := min(0.995, max(0.005, average(ps)+by))
	low, high := -30.0, 30.0
	for range 60 {
		if middle := (low + high) / 2; average(moved(middle)) < goal {
			low = middle
		} else {
			high = middle
		}
	}
	copy(ps, moved(low))
}

const (
	margin    = 0.03 // that the gates allow
	allowance = 0.01 // of wrong verdicts above the stated rate: bounds are of approximate intervals
)

// gated is a gate for a model that is better than its baseline by some margins.
type gated struct {
	budget int // of the first look; each further one doubles it
	looks  int
	better float64 // in margins: −1 is just too bad, 0 is as good
}

// verdicts counts the outcomes of one profile's gates, by estimate.Outcome.
type verdicts [3]int

// gate lets models pass a gate whose baseline is the profile, both evaluated by HBN, and
// compares wrong verdicts with the gate's error rate.
func (s *study) gate() {
	var rows [][]any
	for _, g := range []gated{{budget: 8, looks: 1}, {budget: 16, looks: 1}, {budget: 64, looks: 1}, {budget: 16, looks: 3}} {
		for _, g.better = range []float64{-2, -1, 0} {
			all := collect(s, fmt.Sprintf("gate %+v", g), func(p profile.Profile, random *seed.Stream) verdicts {
				return s.passes(g, p, random)
			})
			var counts [3][]int
			for _, v := range all {
				for k, count := range v {
					counts[k] = append(counts[k], count)
				}
			}
			points := 100 * g.better * margin
			noWorse, noWorseSE := rate(counts[estimate.NoWorse], s.number)
			worse, worseSE := rate(counts[estimate.Worse], s.number)
			rows = append(rows, []any{g.budget, g.looks, fmt.Sprintf("%+.0f", points), share(noWorse, noWorseSE), share(worse, worseSE)})
			if g.better <= -1 {
				s.atMost(noWorse, noWorseSE, estimate.GateRate+allowance, fmt.Sprintf("%+v: models that are %+.0f points better pass", g, points))
			}
			if g.better >= -1 {
				s.atMost(worse, worseSE, estimate.GateRate+allowance, fmt.Sprintf("%+v: models that are %+.0f points better are worse", g, points))
			}
		}
	}
	drill.Table([]string{"b at the first look", "looks", "true difference, points", "no worse", "worse"}, rows)
}

// rate is a share over profiles, and its Monte Carlo error.
func rate(counts []int, number int) (share, se float64) {
	variance, n := 0.0, float64(len(counts))
	for _, count := range counts {
		x := float64(count) / float64(number)
		share += x / n
		variance += x * (1 - x) / float64(number) / (n * n)
	}
	return share, math.Sqrt(variance)
}

// atMost fails if a rate is above its bound by more than chance.
func (s *study) atMost(rate, se, bound float64, what string) {
	if !s.Small && rate > bound+4*se {
		s.Errorf("%s: %.2f%% ± %.2f, want %.2f%% at most", what, 100*rate, 100*se, 100*bound)
	}
}

// passes lets models pass the gate of one profile.
func (s *study) passes(g gated, p profile.Profile, random *seed.Stream) (v verdicts) {
	e, baseline := s.evaluator(), probabilities(p)
	for i, q := range baseline { // a model can be worse on tasks that it solves
		baseline[i] = min(0.999, max(0.001, q))
	}
	model := slices.Clone(baseline)
	if g.better != 0 {
		shift(model, g.better*margin)
	}
	if average(model)-average(baseline) > g.better*margin+1e-9 { // no model is as bad as that
		baseline = slices.Clone(model)
		shift(baseline, -g.better*margin)
	}
	for range s.number {
		v[s.pass(e, g, [2][]float64{model, baseline}, random)]++
	}
	return v
}

// pass evaluates a model and its baseline until the gate is decided, or has had its looks.
func (s *study) pass(e *evaluator, g gated, pair [2][]float64, random *seed.Stream) estimate.Outcome {
	var tasks [2][]estimate.Task
	for look := 1; ; look++ {
		var means [2]estimate.Bounded
		for k, ps := range pair {
			if look == 1 {
				tasks[k] = e.evaluate(ps, g.budget, plan(g.budget), random)
			} else {
				tasks[k] = e.extend(tasks[k], ps, g.budget<<(look-2), random)
			}
			means[k] = must(estimate.Of(s.prior, tasks[k])).Bounded()
		}
		verdict := must(estimate.Gate{Margin: margin, Look: look, Looks: g.looks}.Judge(means[0].Minus(means[1])))
		if verdict.Outcome != estimate.Undecided || look == g.looks {
			return verdict.Outcome
		}
	}
}

// score sums up the evaluations of one profile.
type score struct {
	covered             int     // intervals that hold the truth
	off, square, stated float64 // sums of errors, of their squares, and of stated variances
}

// passk lets HBN with a floor evaluate every profile, and compares estimates of pass^k
// and pass@k, and their intervals, with the profile's. The floor is k, or half of it.
func (s *study) passk() {
	var rows [][]any
	for _, budget := range []int{8, 16, 32} {
		pilots := plan(budget).Pilots
		for _, q := range []estimate.Question{{K: 2, Least: 2}, {K: 4, Least: 4}, {K: 4, Least: 2}, {K: 8, Least: 8}} {
			if q.Least < q.Floor(pilots) || q.Least > budget-pilots {
				continue
			}
			for _, q.Any = range []bool{false, true} {
				rows = append(rows, s.question(budget, q))
			}
		}
	}
	drill.Table([]string{"b", "question", "floor", "bias, s.e.", "coverage"}, rows)
}

// question is a row of the table.
func (s *study) question(budget int, q estimate.Question) []any {
	bias, covered := 0.0, []int{}
	for _, c := range collect(s, fmt.Sprintf("passk %v %d %d", q, budget, q.Least), func(p profile.Profile, random *seed.Stream) score {
		return s.answers(budget, q, p, random)
	}) {
		n := float64(s.number)
		covered = append(covered, c.covered)
		if spread := c.square - c.off*c.off/n; spread > 1e-6*c.square { // not all estimates are the same
			bias += c.off / math.Sqrt(max(spread, c.stated)) / math.Sqrt(float64(len(s.profiles)))
		}
	}
	coverage, se := rate(covered, s.number)
	what := fmt.Sprintf("b = %d, %v with a floor of %d", budget, q, q.Least)
	s.atMost(1-coverage, se, 0.07, what+": the truth is outside of intervals of 95%")
	if !s.Small && math.Abs(bias) > 4.5 {
		s.Errorf("%s: a bias of %.1f of its errors", what, bias)
	}
	return []any{budget, q, q.Least, fmt.Sprintf("%+.2f", bias), share(coverage, se)}
}

// answers draws evaluations of a profile.
func (s *study) answers(budget int, q estimate.Question, p profile.Profile, random *seed.Stream) (c score) {
	e, ps, design, truth := s.evaluator(), probabilities(p), plan(budget), 0.0
	design.Least = q.Least
	for _, x := range ps {
		if q.Any {
			truth += (1 - math.Pow(1-x, float64(q.K))) / float64(len(ps))
		} else {
			truth += math.Pow(x, float64(q.K)) / float64(len(ps))
		}
	}
	for range s.number {
		a := must(q.Of(s.prior, e.evaluate(ps, budget, design, random)))
		if a.Low-1e-12 <= truth && truth <= a.High+1e-12 { // but for rounding
			c.covered++
		}
		c.off += a.Value - truth
		c.square += (a.Value - truth) * (a.Value - truth)
		c.stated += a.StandardError * a.StandardError
	}
	return c
}
