package estimate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"speceval/method/estimate"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// An agent's three tasks after a pilot of 3 rollouts and continuations of 4 at least:
// how likely it is that four further tries all pass, and that one of four does.
func Example() {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		fmt.Println(err)
		return
	}
	tasks := []estimate.Task{
		{Stages: []estimate.Stage{estimate.Binary(3, 3, 0.3), estimate.Binary(4, 4, 0.7)}},
		{Stages: []estimate.Stage{estimate.Binary(3, 2, 0.3), estimate.Binary(9, 6, 0.7)}},
		{Stages: []estimate.Stage{estimate.Binary(3, 0, 0.3), estimate.Binary(4, 1, 0.7)}},
	}
	for _, q := range []estimate.Question{{K: 4, Least: 4}, {K: 4, Any: true, Least: 4}} {
		a, err := q.Of(prior, tasks)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v %.3f ± %.3f, 95%% interval %.3f to %.3f\n", q, a.Value, a.StandardError, a.Low, a.High)
	}
	// Output:
	// pass^4 0.380 ± 0.106, 95% interval 0.204 to 0.595
	// pass@4 0.899 ± 0.136, 95% interval 0.531 to 0.986
}

func answer(q estimate.Question, tasks []estimate.Task) estimate.Bounded {
	return must(q.Of(prior, tasks))
}

func task(share float64, stages ...estimate.Stage) estimate.Task {
	return estimate.Task{Stages: stages, Share: share}
}

// TestOneIsTheMean: pass^1 and pass@1 are the mean itself. Their error is no smaller than
// that by the posterior.
func TestOneIsTheMean(t *testing.T) {
	tasks := []estimate.Task{
		task(1, estimate.Binary(3, 2, 0.3), estimate.Binary(6, 3, 0.7)),
		task(1, estimate.Binary(3, 3, 0.3), estimate.Binary(1, 1, 0.7)),
		task(3, estimate.Binary(3, 0, 0.3), estimate.Binary(2, 1, 0.2), estimate.Binary(3, 0, 0.5)),
	}
	m := must(estimate.Of(prior, tasks))
	for _, any := range []bool{false, true} {
		a := answer(estimate.Question{K: 1, Any: any}, tasks)
		if math.Abs(a.Value-m.Value) > 1e-14 || a.StandardError < m.StandardError-1e-12 {
			t.Errorf("any %v: %v ± %v, the mean is %v ± %v", any, a.Value, a.StandardError, m.Value, m.StandardError)
		}
	}
}

// TestAnyIsAllOfTheFailures swaps passes and failures.
func TestAnyIsAllOfTheFailures(t *testing.T) {
	tasks := []estimate.Task{task(0, estimate.Binary(4, 1, 0.4), estimate.Binary(5, 2, 0.6)), task(0, estimate.Binary(4, 4, 0.4), estimate.Binary(3, 2, 0.6))}
	swapped := []estimate.Task{task(0, estimate.Binary(4, 3, 0.4), estimate.Binary(5, 3, 0.6)), task(0, estimate.Binary(4, 0, 0.4), estimate.Binary(3, 1, 0.6))}
	one, all := answer(estimate.Question{K: 3, Any: true, Least: 3}, tasks), answer(estimate.Question{K: 3, Least: 3}, swapped)
	if math.Abs(one.Value-1+all.Value) > 1e-14 || math.Abs(one.StandardError-all.StandardError) > 1e-12 || math.Abs(one.Low-1+all.High) > 1e-12 {
		t.Errorf("%+v\n%+v", one, all)
	}
	if one.Value <= 0.5 || !(one.Low < one.Value && one.Value < one.High) {
		t.Errorf("%+v", one)
	}
}

func TestQuestionsThatHaveNoAnswer(t *testing.T) {
	good := task(0, estimate.Binary(4, 1, 0.4), estimate.Binary(5, 2, 0.6))
	for want, tt := range map[string]struct {
		q     estimate.Question
		tasks []estimate.Task
	}{
		"pass^0 ":    {estimate.Question{}, []estimate.Task{good}},
		"pass@65 ":   {estimate.Question{K: 65, Any: true}, []estimate.Task{good}},
		"at least -": {estimate.Question{K: 2, Least: -1}, []estimate.Task{good}},
		"task 1: pass^6: stage 0: 4 rollouts, of which 5 would be needed": {estimate.Question{K: 6}, []estimate.Task{task(0, estimate.Binary(8, 2, 0.5), estimate.Binary(1, 1, 0.5)), good}},
		"task 0: pass@4: stage 1: 2 rollouts, of which":                   {estimate.Question{K: 4, Any: true, Least: 4}, []estimate.Task{task(0, estimate.Binary(4, 1, 0.4), estimate.Binary(2, 2, 0.6)), good}},
		"task 0: pass^9: stage 0: 8 rollouts, of which 9":                 {estimate.Question{K: 9}, []estimate.Task{task(0, estimate.Binary(8, 2, 1))}},
		"task 1: pass^1: the weights":                                     {estimate.Question{K: 1}, []estimate.Task{good, task(0, estimate.Binary(4, 1, 0.4))}},
		"rollouts of 0 tasks":                                             {estimate.Question{K: 1}, nil},
	} {
		if _, err := tt.q.Of(prior, tt.tasks); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", tt.q, err, want)
		}
	}
	for _, graded := range []estimate.Stage{{Rollouts: 4, Rewards: 1.5, Squares: 1.25, Weight: 1}, {Rollouts: 4, Rewards: 2, Squares: 1.5, Weight: 1}} {
		if _, err := (estimate.Question{K: 2}).Of(prior, []estimate.Task{good, task(0, graded)}); err == nil || !strings.Contains(err.Error(), "graded rewards") || !strings.Contains(err.Error(), "task 1") {
			t.Errorf("graded rewards: %v", err)
		}
	}
	for _, tt := range [][3]int{{4, 3, 1}, {8, 3, 5}, {2, 6, 1}} {
		if got := (estimate.Question{K: tt[0]}).Floor(tt[1]); got != tt[2] {
			t.Errorf("k = %d after a pilot of %d takes a floor of %d, want %d", tt[0], tt[1], got, tt[2])
		}
	}
	for _, tt := range [][4]int{{4, 3, 8, 4}, {8, 3, 8, 5}, {2, 6, 16, 2}, {8, 6, 7, 2}, {16, 3, 8, 13}} {
		if got := (estimate.Question{K: tt[0]}).BestFloor(tt[1], tt[2]); got != tt[3] {
			t.Errorf("k = %d after %d of %d rollouts: the best floor is %d, want %d", tt[0], tt[1], tt[2], got, tt[3])
		}
	}
}

// TestErrorsAreCalibratedUnderThePrior draws tasks from the prior and evaluations in
// three stages with a floor: squared errors average to the stated variances, and
// intervals cover the truth.
func TestPassKErrorsAreCalibratedUnderThePrior(t *testing.T) {
	const tasks, budget, evaluations = 20, 10, 800
	q := estimate.Question{K: 4, Least: 3}
	s := must(staged.New(tasks, budget, staged.Plan{Pilots: 2, Weight: 0.2, Fractions: []float64{0.4, 1}, Least: q.Least}))
	nothing := must(prior.Update(make([]int, tasks), make([]float64, tasks)))
	random := rand.New(rand.NewPCG(11, 12))
	partial, work := prior.Partial(budget), prior.NewWork()
	ps, scores, passes := make([]float64, tasks), make([]float64, tasks), make([]int, tasks)
	var stated, seen, fourth, bias float64
	covered := 0
	for range evaluations {
		nothing.Mixture().Draw(random, ps)
		truth := 0.0
		for _, p := range ps {
			truth += math.Pow(p, 4) / tasks
		}
		s.Restart()
		all := make([]estimate.Task, tasks)
		observed, successes := make([]int, tasks), make([]int, tasks)
		for {
			for i, n := range s.Sizes() {
				passes[i] = 0
				for range n {
					if random.Float64() < ps[i] {
						passes[i]++
					}
				}
				observed[i] += n
				successes[i] += passes[i]
				all[i].Stages = append(all[i].Stages, estimate.Binary(n, passes[i], s.Weights()[i]))
			}
			ok(t, s.Observe(passes))
			if s.Done() {
				break
			}
			partial.Scores(observed, successes, work, scores)
			ok(t, s.Decide(scores))
		}
		a := must(q.Of(prior, all))
		away := a.Value - truth
		stated += a.StandardError * a.StandardError / evaluations
		seen += away * away / evaluations
		fourth += math.Pow(away, 4) / evaluations
		bias += away / evaluations
		if a.Low <= truth && truth <= a.High {
			covered++
		}
	}
	if se := math.Sqrt((fourth - seen*seen) / evaluations); math.Abs(stated-seen) > 4*se {
		t.Errorf("stated variance %v, seen %v ± %v", stated, seen, se)
	}
	if se := math.Sqrt(seen / evaluations); math.Abs(bias) > 4*se {
		t.Errorf("bias %v ± %v", bias, se)
	}
	if share := float64(covered) / evaluations; share < 0.94-4*math.Sqrt(0.06*0.94/evaluations) {
		t.Errorf("intervals cover the truth in %v of evaluations", share)
	}
}

// TestTasksUnlikeThePriors has a benchmark of which half of the tasks pass once in
// twenty rollouts and the others fail as often: by the reference prior most of these are
// closer to 0 and 1, and the error of pass^4 would be a third too small.
func TestTasksUnlikeThePriors(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 12))
	const tasks, rollouts, evaluations = 60, 8, 300
	q := estimate.Question{K: 4}
	truth := (math.Pow(0.05, 4) + math.Pow(0.95, 4)) / 2
	var stated, seen, fourth float64
	for range evaluations {
		var all []estimate.Task
		for i := range tasks {
			passes := 0
			for range rollouts {
				if random.Float64() < 0.05+0.9*float64(i%2) {
					passes++
				}
			}
			all = append(all, task(0, estimate.Binary(rollouts, passes, 1)))
		}
		a := must(q.Of(prior, all))
		stated += a.StandardError * a.StandardError / evaluations
		seen += (a.Value - truth) * (a.Value - truth) / evaluations
		fourth += math.Pow(a.Value-truth, 4) / evaluations
	}
	if se := math.Sqrt((fourth - seen*seen) / evaluations); stated < 0.9*seen-4*se || stated > 1.2*seen+4*se {
		t.Errorf("stated variance %v, seen %v ± %v", stated, seen, se)
	}
}
