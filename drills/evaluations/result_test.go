//go:build drill

package evaluations_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"

	"speceval/internal/evaluation"
	"speceval/internal/rollout"
	"speceval/internal/rowfile"
	"speceval/method/estimate"
)

// meanOfResult is a result's estimate, as far as statistics need it.
func meanOfResult(r *evaluation.Result) estimate.Mean {
	return estimate.Mean{Value: r.Estimate, StandardError: r.StandardError, Low: r.Interval[0], High: r.Interval[1]}
}

// checkResult returns an error if a result of an evaluation with this budget is
// impossible: the rollouts that count are N·b unless the evaluation stopped by what it
// found, every task has the pilot and a continuation unless the policy is Uniform, and
// the estimates follow from the counts by stage (paper, Eq. 3, for more stages).
func checkResult(r *evaluation.Result, budget int) error {
	all, value := 0, 0.0
	for _, t := range r.Rows {
		all += int(t.Pilots + t.Continuations)
		if r.Extends == "" && int(t.Pilots) != r.Design.Pilots {
			return fmt.Errorf("task %s has %d pilot rollouts, the design %d", t.ID, t.Pilots, r.Design.Pilots)
		}
		if r.Policy != uniform && t.Continuations < 1 {
			return fmt.Errorf("task %s has no continuation", t.ID)
		}
		if err := checkTask(t); err != nil {
			return fmt.Errorf("task %s: %w", t.ID, err)
		}
		if pilot := t.Stages[0]; r.Extends == "" && !near(pilot.Weight, r.Design.Weight) {
			return fmt.Errorf("task %s: the weight of the pilot is %v, by the design %v", t.ID, pilot.Weight, r.Design.Weight)
		}
		value += cmp.Or(t.Share, 1/float64(r.Tasks)) * t.Estimate
	}
	switch want := r.Tasks * budget; {
	case r.Stop == nil && all != want || r.Rollouts != all:
		return fmt.Errorf("%d rollouts of the tasks, %d in all, want %d", all, r.Rollouts, want)
	case !near(value, r.Estimate):
		return fmt.Errorf("the estimate is %v, by the tasks %v", r.Estimate, value)
	}
	return nil
}

// checkTask returns an error if the stages are not those of the counts, the first of them
// the pilot, if their weights do not add up to one, or if the task's numbers do not follow
// from them.
func checkTask(t evaluation.Task) error {
	if len(t.Stages) == 0 {
		return fmt.Errorf("it has no stages")
	}
	rollouts, rewards, weights, value, shrinkage := 0, 0.0, 0.0, 0.0, 0.0
	for _, s := range t.Stages {
		n := float64(s.Rollouts)
		rollouts, rewards, weights = rollouts+s.Rollouts, rewards+s.Rewards, weights+s.Weight
		value, shrinkage = value+s.Weight*s.Rewards/n, shrinkage+s.Weight*s.Weight/n
	}
	passes := float64(t.PilotPasses + t.ContinuationPasses)
	switch pilot := t.Stages[0]; {
	case pilot.Rollouts != int(t.Pilots) || pilot.Rewards != float64(t.PilotPasses):
		return fmt.Errorf("the first stage is %+v, the pilot %d of %d", pilot, t.PilotPasses, t.Pilots)
	case rollouts != int(t.Pilots+t.Continuations) || rewards != passes:
		return fmt.Errorf("%v of %d rollouts passed in its stages, want %v of %d", rewards, rollouts, passes, t.Pilots+t.Continuations)
	case !near(weights, 1):
		return fmt.Errorf("the weights of its stages add up to %v", weights)
	case !near(value, t.Estimate) || !near(shrinkage, t.Shrinkage):
		return fmt.Errorf("its estimate is %v with the shrinkage %v, by its stages %v with %v", t.Estimate, t.Shrinkage, value, shrinkage)
	}
	return nil
}

// near reports whether two numbers are the same except for rounding.
func near(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }

// sameResults reports which evaluations differ in their numbers from those of others by
// the same seeds, whatever happened on the way.
func sameResults(all, others []*evaluation.Result) error {
	for i, a := range all {
		b := others[i]
		switch {
		case a.Estimate != b.Estimate || a.StandardError != b.StandardError || a.Interval != b.Interval:
			return fmt.Errorf("seed %d: estimates %v ± %v and %v ± %v", i+1, a.Estimate, a.StandardError, b.Estimate, b.StandardError)
		case len(a.Rows) != len(b.Rows):
			return fmt.Errorf("seed %d: %d and %d tasks", i+1, len(a.Rows), len(b.Rows))
		}
		for k := range a.Rows {
			if !reflect.DeepEqual(a.Rows[k], b.Rows[k]) {
				return fmt.Errorf("seed %d: task %s: %+v and %+v", i+1, a.Rows[k].ID, a.Rows[k], b.Rows[k])
			}
		}
	}
	return nil
}

// boxed is a result in the form in which answers are asked for.
var boxed = regexp.MustCompile(`\\boxed\{([^{}]*)\}`)

// recount counts the rollouts of a complete evaluation again, stage by stage, from their
// texts and nothing else that the program has worked out: a rollout passes if the last
// box in it holds the task's answer, letter for letter. It returns an error if the stages
// or the verdicts differ from that, if a rollout that counts is missing, or if one is
// there twice.
func recount(folder string, r *evaluation.Result, answers map[string]string) error {
	counted := make([][]estimate.Stage, len(r.Rows)) // without weights
	for i, t := range r.Rows {
		counted[i] = make([]estimate.Stage, len(t.Stages))
	}
	passed := map[rollout.ID]bool{}
	for one, err := range rollout.Responses([]string{filepath.Join(folder, "rollouts.parquet")}) {
		if err != nil {
			return err
		}
		_, twice := passed[one.ID()]
		switch {
		case int(one.TaskIndex) >= len(r.Rows) || one.TaskID != r.Rows[one.TaskIndex].ID:
			return fmt.Errorf("%s: task %d is %s", folder, one.TaskIndex, one.TaskID)
		case twice:
			return fmt.Errorf("%s: %v is there twice", folder, one.ID())
		}
		boxes := boxed.FindAllStringSubmatch(one.Text, -1)
		passed[one.ID()] = len(boxes) > 0 && boxes[len(boxes)-1][1] == answers[one.TaskID]
		count(counted[one.TaskIndex], r.Rows[one.TaskIndex].Stages, int(one.Rollout), passed[one.ID()])
	}
	for i, t := range r.Rows {
		for k, stage := range t.Stages {
			if c := counted[i][k]; c.Rollouts != stage.Rollouts || c.Rewards != stage.Rewards {
				return fmt.Errorf("%s: task %s has %v of %d passes in stage %d, by its rollouts %v of %d", folder, t.ID, stage.Rewards, stage.Rollouts, k, c.Rewards, c.Rollouts)
			}
		}
	}
	return verdicts(folder, r, passed)
}

// count counts the n-th rollout of a task in its stage, unless it is surplus.
func count(counted, stages []estimate.Stage, n int, passed bool) {
	for k, stage := range stages {
		if n < stage.Rollouts {
			counted[k].Rollouts++
			if passed {
				counted[k].Rewards++
			}
			return
		}
		n -= stage.Rollouts
	}
}

// verdicts returns an error unless every rollout that counts has a verdict, and every
// verdict is that of the rollout's text.
func verdicts(folder string, r *evaluation.Result, passed map[rollout.ID]bool) error {
	has := make([]int32, len(r.Rows))
	for v, err := range rollout.Scores(filepath.Join(folder, "scores.parquet")) {
		if err != nil {
			return err
		}
		want, there := passed[v.ID()]
		if !there || v.Correct != want {
			return fmt.Errorf("%s: the verdict on %v is %v, by its text %v (there: %v)", folder, v.ID(), v.Correct, want, there)
		}
		if t := r.Rows[v.TaskIndex]; v.Rollout < t.Pilots+t.Continuations {
			has[v.TaskIndex]++
		}
	}
	for i, t := range r.Rows {
		if want := t.Pilots + t.Continuations; has[i] != want {
			return fmt.Errorf("%s: task %s has verdicts on %d of %d rollouts", folder, t.ID, has[i], want)
		}
	}
	return nil
}

// completion is how rewards depend on the time to completion in an evaluation: the pass
// rates of the half of its pilot that was answered faster, and of the other half.
func completion(folder string) (fast, slow float64, err error) {
	path := filepath.Join(folder, "requests.parquet")
	rows, _, err := rowfile.ReadFile[evaluation.Request](path)
	if err != nil {
		return 0, 0, err
	}
	rows = slices.DeleteFunc(rows, func(r evaluation.Request) bool { return r.Phase != "pilot" || r.Finished == nil || r.Passed == nil })
	if len(rows) < 2 {
		return 0, 0, fmt.Errorf("%s has %d pilot rollouts with rewards", path, len(rows))
	}
	slices.SortFunc(rows, func(a, b evaluation.Request) int {
		return cmp.Compare(*a.Finished-a.Submitted, *b.Finished-b.Submitted)
	})
	passRate := func(rows []evaluation.Request) float64 {
		passes := 0
		for _, r := range rows {
			if *r.Passed {
				passes++
			}
		}
		return float64(passes) / float64(len(rows))
	}
	half := len(rows) / 2
	return passRate(rows[:half]), passRate(rows[half:]), nil
}
