package passk

import (
	"errors"
	"fmt"
	"math"

	"speceval/method/estimate"
	"speceval/method/neyman"
)

// Question is what is asked of k rollouts of a task.
type Question struct {
	K   int  // from 1 to MostK
	Any bool // pass@k, that one of them passes; otherwise pass^k, that all do

	// Least is the number of rollouts that a task was sure to have ahead for as long as it
	// had weight left, staged.Plan.Least; 0: 1.
	Least int
}

// MostK is the largest k.
const MostK = 64

// String is the question's name, pass^k or pass@k.
func (q Question) String() string {
	if q.Any {
		return fmt.Sprintf("pass@%d", q.K)
	}
	return fmt.Sprintf("pass^%d", q.K)
}

// Floor is the least Plan.Least under which a plan with pilots of m rollouts answers the
// question; 1 is none.
func (q Question) Floor(pilots int) int { return max(1, q.K-pilots) }

// BestFloor is the Plan.Least that answers it best: k, or what the pilot leaves of the
// budget if that is less, and Floor at least.
func (q Question) BestFloor(pilots, budget int) int {
	return max(q.Floor(pilots), min(q.K, budget-pilots))
}

// Answer is an estimate of pass^k or pass@k, of the mean over tasks.
type Answer struct {
	estimate.Bounded
	Tasks []Task
}

// Task is the answer of one task.
type Task struct {
	Value    float64 // unbiased
	Mean     float64 // posterior expectation under the reference prior
	Variance float64 // of Value, expected by the posterior
}

// Sample is the tasks as a sample of what they stand for, as estimate.Mean has it.
func (a Answer) Sample(shares []float64, clusters []string) estimate.Sample {
	s := estimate.Sample{Shares: shares, Clusters: clusters}
	for _, t := range a.Tasks {
		s.Values = append(s.Values, t.Value)
	}
	return s
}

// ErrGraded means that rewards are not all 0 or 1: k rollouts then have no number that
// passed.
var ErrGraded = errors.New("graded rewards have no pass@k and pass^k: these need rollouts that pass or fail")

// Of answers the question by the selected rollouts of all tasks, as estimate.Of
// estimates their mean. It is an error if tasks are not as that function wants them, if
// rewards are graded, and if a task's stages have too few rollouts for k.
func (q Question) Of(prior *neyman.Prior, tasks []estimate.Task) (Answer, error) {
	if q.K < 1 || q.K > MostK || q.Least < 0 {
		return Answer{}, fmt.Errorf("%v with at least %d rollouts ahead: want k from 1 to %d, and no fewer than 0", q, q.Least, MostK)
	}
	if _, err := estimate.Of(prior, tasks); err != nil {
		return Answer{}, err
	}
	observed, successes := make([]int, len(tasks)), make([]int, len(tasks))
	paths := make([]path, len(tasks))
	for i, t := range tasks {
		stages, err := q.stages(t)
		if err == nil {
			paths[i], err = q.follow(stages)
		}
		if err != nil {
			return Answer{}, fmt.Errorf("task %d: %v: %w", i, q, err)
		}
		for _, s := range paths[i].stages {
			observed[i] += s.rollouts
			successes[i] += s.passes
		}
	}
	update, err := prior.Update(observed, successes)
	if err != nil {
		return Answer{}, err
	}
	classes := make([]class, len(tasks))
	for i, n := range observed {
		classes[i] = class{n, successes[i]}
	}
	return q.answer(update, newPopulation(classes), tasks, paths, classes), nil
}

// answer is the mean over tasks, by their shares.
func (q Question) answer(update *neyman.Update, population population, tasks []estimate.Task, paths []path, classes []class) Answer {
	var a Answer
	var value, expected, variance, suggested, all float64
	alike := true
	for _, t := range tasks {
		alike = alike && t.Share == 0
	}
	for i, p := range paths {
		powers := update.Powers(i, 2*q.K)
		t := Task{Value: p.value, Mean: powers[q.K], Variance: max(0, p.variance.expect(powers))}
		if q.Any {
			t.Value, t.Mean = 1-t.Value, 1-t.Mean
		}
		share := tasks[i].Share
		if alike {
			share = 1
		}
		all += share
		value += share * t.Value
		expected += share * t.Mean
		variance += share * share * t.Variance
		suggested += share * share * population.expect(p.variance, classes[i])
		a.Tasks = append(a.Tasks, t)
	}
	a.Bounded = estimate.Share(value/all, expected/all, max(variance, suggested)/(all*all))
	return a
}

// stages are a task's, with failures counted as passes for pass@k: 1 − E[(1−p)^k].
func (q Question) stages(t estimate.Task) (stages []stage, err error) {
	for _, s := range t.Stages {
		if s.Rewards != math.Trunc(s.Rewards) || s.Squares != s.Rewards {
			return nil, ErrGraded
		}
		passes := int(s.Rewards)
		if q.Any {
			passes = s.Rollouts - passes
		}
		stages = append(stages, stage{rollouts: s.Rollouts, passes: passes, weight: s.Weight})
	}
	return stages, nil
}
