//go:build drill

// Package decisions_test is a part of `make drill-decisions`: contests of the published models,
// which it draws of their profiles.
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
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
	"speceval/method/estimate"
	"speceval/method/neyman"
	"speceval/method/ranking"
	"speceval/method/staged"
)

// TestRanks lets the published models compete for being the best on each benchmark, and
// compares how often the wrong one is found with Uniform, at the same budget and at twice it.
func TestRanks(t *testing.T) {
	l := drill.New(t, time.Hour)
	profiles, _, err := profile.Evaluated(must(profile.Parse(data.Profiles(), data.ProfilesName)))
	l.OK(err)
	s := &study{l, profiles, must(neyman.NewPrior(16)), l.Often(10, 250)}
	var rows [][]any
	for _, budget := range []int{8, 16, 32} {
		rows = append(rows, s.ranks(budget))
	}
	drill.Table([]string{"b", "contests", "wrong best", "stated", "Uniform", "Uniform at 2b", "worst bias, s.e.", "coverage"}, rows)
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

// evaluator draws evaluations of tasks. It belongs to one goroutine.
type evaluator struct {
	partial *neyman.Partial
	work    *neyman.Work
}

func (s *study) evaluator() *evaluator {
	return &evaluator{partial: s.prior.Partial(1), work: s.prior.NewWork()}
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

// field is the models of a benchmark.
type field struct {
	ps    [][]float64 // of the tasks, by model
	means []float64
}

// found is the outcome of the contests of a benchmark.
type found struct {
	wrong, stated    float64   // sums
	uniform, doubled float64   // shares
	errors, squares  []float64 // sums over contests, by model
	covered          int
}

// ranks is a row of the table.
func (s *study) ranks(budget int) []any {
	fields := make(map[string]*field)
	for _, p := range s.profiles {
		f := fields[p.Benchmark]
		if f == nil {
			f = new(field)
			fields[p.Benchmark] = f
		}
		f.ps, f.means = append(f.ps, probabilities(p)), append(f.means, p.Mean())
	}
	one := *s // with a profile of each benchmark
	one.profiles = slices.CompactFunc(slices.Clone(s.profiles), func(a, b profile.Profile) bool { return a.Benchmark == b.Benchmark })
	n, models := float64(s.number), 0
	var wrong, stated, uniform, doubled, variance, bias, covered float64
	for _, c := range collect(&one, fmt.Sprintf("rank %d", budget), func(p profile.Profile, random *seed.Stream) (c found) {
		f := fields[p.Benchmark]
		c.errors, c.squares = make([]float64, len(f.ps)), make([]float64, len(f.ps))
		for range s.number {
			s.contest(f, budget, &c, random)
		}
		c.uniform, c.doubled = f.uniform(budget, 20*s.number, random), f.uniform(2*budget, 20*s.number, random)
		return c
	}) {
		wrong, stated, uniform, doubled = wrong+c.wrong/n, stated+c.stated/n, uniform+c.uniform, doubled+c.doubled
		variance += c.wrong / n * (1 - c.wrong/n) / n
		for k, e := range c.errors {
			if c.squares[k] > 0 {
				bias = max(bias, math.Abs(e)/math.Sqrt(c.squares[k]))
			}
		}
		covered, models = covered+float64(c.covered), models+len(c.errors)
	}
	benchmarks := float64(len(one.profiles))
	se := math.Sqrt(variance) / benchmarks
	wrong, stated, uniform, doubled = wrong/benchmarks, stated/benchmarks, uniform/benchmarks, doubled/benchmarks
	covered /= n * float64(models)
	if !s.Small && (wrong > doubled+3*se || wrong > 0.8*uniform || math.Abs(wrong-stated) > 0.02 || bias > 4.5 || covered < 0.94) {
		s.Errorf("b = %d: the best is wrong in %.4f ± %.4f, stated %.4f, by Uniform in %.4f and with twice the budget in %.4f; a bias of %.1f s.e., coverage %.3f", budget, wrong, se, stated, uniform, doubled, bias, covered)
	}
	return []any{budget, s.number * len(one.profiles), fmt.Sprintf("%.4f ± %.4f", wrong, se), fmt.Sprintf("%.4f", stated), fmt.Sprintf("%.4f", uniform), fmt.Sprintf("%.4f", doubled), fmt.Sprintf("%.1f", bias), fmt.Sprintf("%.1f%%", 100*covered)}
}

// contest draws a contest, as evaluate rank carries it out.
func (s *study) contest(f *field, budget int, c *found, random *seed.Stream) {
	stages := must(staged.New(len(f.ps), budget, ranking.Plan(budget)))
	e, standings, means := s.evaluator(), make([]ranking.Standing, len(f.ps)), make([]estimate.Mean, len(f.ps))
	tasks, pasts, spent := make([][]estimate.Task, len(f.ps)), make([]staged.Past, len(f.ps)), 0
	for {
		for k, n := range stages.Sizes() {
			if n > 0 {
				tasks[k] = e.extend(tasks[k], pasts[k], f.ps[k], n, 1-stages.Weights()[k]/(1-stages.Rest()[k]), random)
				means[k], pasts[k] = must(estimate.Of(s.prior, tasks[k])), staged.Past{}
				var variances []float64
				for i, t := range means[k].Tasks {
					shrinkage := 0.0
					for _, x := range tasks[k][i].Stages {
						shrinkage += x.Weight * x.Weight / float64(x.Rollouts)
					}
					pasts[k].Means, pasts[k].Shrinkage, variances = append(pasts[k].Means, t.Value), append(pasts[k].Shrinkage, shrinkage), append(variances, t.Variance)
				}
				variance := means[k].StandardError * means[k].StandardError
				standings[k] = ranking.Standing{Normal: ranking.Normal{Mean: means[k].Value, Variance: variance}, Spread: ranking.Spread(variance, nil, variances, pasts[k].Shrinkage)}
				spent += n
			}
			standings[k].Rest = stages.Rest()[k]
		}
		check(stages.Observe(make([]int, len(f.ps))))
		if stages.Done() {
			break
		}
		check(stages.Decide(must(ranking.Scores(ranking.Best, standings, stages.Left()))))
	}
	if spent != budget*len(f.ps) {
		s.Errorf("%d rollouts per task of %d models at a budget of %d", spent, len(f.ps), budget)
	}
	var normals []ranking.Normal
	var values []float64
	for k, m := range means {
		normals, values = append(normals, standings[k].Normal), append(values, m.Value)
		c.errors[k] += m.Value - f.means[k]
		c.squares[k] += (m.Value - f.means[k]) * (m.Value - f.means[k])
		if m.Low-1e-12 <= f.means[k] && f.means[k] <= m.High+1e-12 {
			c.covered++
		}
	}
	c.wrong += f.wrong(values)
	c.stated += ranking.Wrong(ranking.Best, normals)
}

// extend draws n further rollouts per task of a model, by Uniform the first ones. What was
// before has a weight.
func (e *evaluator) extend(tasks []estimate.Task, past staged.Past, ps []float64, n int, weight float64, random *seed.Stream) []estimate.Task {
	if tasks == nil {
		for _, p := range ps {
			tasks = append(tasks, estimate.Task{Stages: []estimate.Stage{estimate.Binary(n, pilot.Binomial(n, p, random), 1)}})
		}
		return tasks
	}
	for _, t := range tasks {
		for k := range t.Stages {
			t.Stages[k].Weight *= weight
		}
	}
	more := must(staged.Extend(past, n*len(ps), staged.Plan{Weight: weight, Fractions: []float64{1}}))
	return e.spend(more, tasks, ps, random)
}

// wrong is 1 where the greatest of estimates is not of the best model, ties shared.
func (f *field) wrong(estimates []float64) float64 {
	top, best, n, right := slices.Max(estimates), slices.Max(f.means), 0.0, 0.0
	for k, x := range estimates {
		if x > top-1e-12 {
			n++
			if f.means[k] == best {
				right++
			}
		}
	}
	return 1 - right/n
}

// uniform is how often the best is wrong by Uniform.
func (f *field) uniform(budget, number int, random *seed.Stream) (wrong float64) {
	estimates := make([]float64, len(f.ps))
	for range number {
		for k, ps := range f.ps {
			passes := 0
			for _, p := range ps {
				passes += pilot.Binomial(budget, p, random)
			}
			estimates[k] = float64(passes) / float64(budget*len(ps))
		}
		wrong += f.wrong(estimates) / float64(number)
	}
	return wrong
}
