//go:build drill

package evaluations_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"

	"speceval/internal/evaluation"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
	"speceval/internal/store/rollout"
	"speceval/method/controller"
)

// boxed is a result in the form in which answers are asked for.
var boxed = regexp.MustCompile(`\\boxed\{([^{}]*)\}`)

// check ends the drill if a result does not follow from its rollouts: the policy of the setup is
// run again by the verdicts on them, one rollout after the other, and must come to the same
// rollouts, weights and estimate. Where answers are known, a rollout passes if the last box in
// its text holds the task's answer, letter for letter. A rollout that is there twice ends
// the reading.
func (b *bench) check(folder string, r *evaluation.Result, budget int, answers map[string]string) *evaluation.Setup {
	b.Helper()
	setup, err := evaluation.ReadSetup(folder)
	b.OK(err)
	passed, judged := map[rollout.ID]bool{}, map[rollout.ID]bool{}
	for one, err := range rollout.Responses([]string{filepath.Join(folder, "rollouts.parquet")}) {
		b.OK(err)
		if int(one.TaskIndex) >= len(setup.TaskIDs) || one.TaskID != setup.TaskIDs[one.TaskIndex] {
			b.Fatalf("%s: task %d is %s", folder, one.TaskIndex, one.TaskID)
		}
		boxes := boxed.FindAllStringSubmatch(one.Text, -1)
		passed[one.ID()] = len(boxes) > 0 && boxes[len(boxes)-1][1] == answers[one.TaskID]
	}
	for v, err := range rollout.Scores(filepath.Join(folder, "scores.parquet")) {
		b.OK(err)
		want, there := passed[v.ID()]
		if !there || answers != nil && v.Correct != want {
			b.Fatalf("%s: the verdict on %v is %v, by its text %v (there: %v)", folder, v.ID(), v.Correct, want, there)
		}
		passed[v.ID()], judged[v.ID()] = v.Correct, true
	}
	want := b.settle(setup, func(id rollout.ID) float64 {
		if !judged[id] {
			b.Fatalf("%s: %v counts and has no verdict", folder, id)
		}
		return float64(one(passed[id]))
	})
	numbers := func(r *evaluation.Result) []any {
		return []any{r.Estimate, r.StandardError, r.Interval, r.Rollouts, r.Rows}
	}
	if is, want := numbers(r), numbers(want); !reflect.DeepEqual(is, want) {
		b.Fatalf("%s: the result is %+v, by its rollouts %+v", folder, is, want)
	}
	if want := r.Tasks * budget; r.Stop == nil && r.Rollouts != want {
		b.Fatalf("%s: %d rollouts, want %d", folder, r.Rollouts, want)
	}
	return setup
}

// settle runs the policy of a setup to its end by the rewards of rollouts.
func (b *bench) settle(setup *evaluation.Setup, reward func(id rollout.ID) float64) *evaluation.Result {
	b.Helper()
	c, err := setup.Controller(b.prior, false, nil, nil)
	b.OK(err)
	for id, ok := c.Next(); ok; id, ok = c.Next() {
		n := id.Ordinal - 1
		switch {
		case id.Phase == controller.Pilot:
		case setup.Extends == nil:
			n += int32(c.Pilots)
		default:
			for _, stage := range setup.Extends.Stages[id.Task] {
				n += int32(stage.Rollouts)
			}
		}
		_, err := c.Rewarded(id, reward(rollout.ID{Task: id.Task, Rollout: n}))
		b.OK(err)
	}
	r, err := setup.Outcome(c, b.prior, func(task, n int) float64 {
		return reward(rollout.ID{Task: int32(task), Rollout: int32(n)})
	})
	b.OK(err)
	return r
}

// prediction is the variance of a policy's estimates relative to Uniform's.
type prediction struct {
	Ratio float64 // mean over draws
	SE    float64 // its Monte Carlo standard error; 0 of Uniform, which is 1 by definition
	Spent float64 // rollouts per task, mean over draws: the budget unless the evaluation stops by what it finds
}

// String is the ratio with its error.
func (p prediction) String() string { return fmt.Sprintf("%.3f ± %.4f", p.Ratio, p.SE) }

// predict draws evaluations of a profile whose pass rates are taken for the truth, under a
// setup, after the setup that it extends, if there is one. It is the mean over draws of
// Σ p(1−p)·Σ c²/n, the variance of an estimate given the rollouts that decided on it,
// relative to Uniform's with as many rollouts on average (paper, Section 4.1; informed and
// staged policies are its general case).
func (b *bench) predict(p profile.Profile, draws int, number uint64, setups ...*evaluation.Setup) prediction {
	b.Helper()
	last := *setups[len(setups)-1]
	if last.Policy == uniform {
		return prediction{Ratio: 1, Spent: float64(last.Budget)}
	}
	streams := seed.Root(number).Child("forecast").Child(p.Name()).Stream()
	var variances, spent []float64
	for draw := range draws {
		random, drawn := streams.At(uint64(draw)), make([][]float64, p.N())
		reward := func(id rollout.ID) float64 {
			for task := id.Task; len(drawn[task]) <= int(id.Rollout); {
				drawn[task] = append(drawn[task], pass(p.P(int(task)), &random))
			}
			return drawn[id.Task][id.Rollout]
		}
		if len(setups) > 1 {
			last.Extends = evaluation.Extending(b.settle(setups[0], reward), last.Extends.Folder)
		}
		r, variance := b.settle(&last, reward), 0.0
		for i, t := range r.Rows {
			variance += p.P(i) * (1 - p.P(i)) * t.Shrinkage
		}
		variances = append(variances, variance)
		spent = append(spent, float64(r.Rollouts)/float64(p.N()))
	}
	mean, se := meanOf(variances)
	perTask, _ := meanOf(spent)
	unit := p.VarianceSum() / perTask
	return prediction{Ratio: mean / unit, SE: se / unit, Spent: perTask}
}
