//go:build drill

// Package decisions_test is `make drill-decisions`: intervals of pass^k and pass@k, on
// evaluations by HBN that it draws of the published profiles.
package decisions_test

import (
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

func TestDecisions(t *testing.T) {
	l := drill.New(t, 4*time.Hour)
	profiles, _, err := profile.Evaluated(must(profile.Parse(data.Profiles(), data.ProfilesName)))
	l.OK(err)
	if l.Small {
		profiles = slices.DeleteFunc(profiles, func(p profile.Profile) bool { return p.N() > 30 })
	}
	s := &study{l, profiles, must(neyman.NewPrior(16)), l.Often(20, 1000)}
	s.passk()
}

// study is evaluations of profiles.
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
