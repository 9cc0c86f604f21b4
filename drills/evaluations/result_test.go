//go:build drill

package evaluations_test

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/rollout"
	"speceval/internal/rowfile"
)

// checkResult ends the drill if a result of an evaluation with this budget is impossible:
// the rollouts that count are N·b unless the evaluation stopped by what it found, every
// task has the pilot and a continuation unless the policy is Uniform, and the estimates
// follow from the counts by stage (paper, Eq. 3, for more stages).
func checkResult(l *drill.Lab, r *evaluation.Result, budget int) {
	l.Helper()
	if len(r.Rows) == 0 || len(r.Rows) != r.Tasks {
		l.Fatalf("results of %d tasks, n_tasks is %d", len(r.Rows), r.Tasks)
	}
	all, value := 0, 0.0
	for _, t := range r.Rows {
		checkTask(l, t)
		if pilot := t.Stages[0]; r.Extends == "" && (int(t.Pilots) != r.Design.Pilots || !near(pilot.Weight, r.Design.Weight)) {
			l.Fatalf("task %s has %d pilot rollouts of weight %v, the design %d of %v",
				t.ID, t.Pilots, pilot.Weight, r.Design.Pilots, r.Design.Weight)
		}
		if r.Policy != uniform && t.Continuations < 1 {
			l.Fatalf("task %s has no continuation", t.ID)
		}
		all += int(t.Pilots + t.Continuations)
		value += cmp.Or(t.Share, 1/float64(r.Tasks)) * t.Estimate
	}
	if want := r.Tasks * budget; r.Stop == nil && all != want || r.Rollouts != all {
		l.Fatalf("%d rollouts of the tasks, %d in all, want %d", all, r.Rollouts, want)
	}
	if !near(value, r.Estimate) {
		l.Fatalf("the estimate is %v, by the tasks %v", r.Estimate, value)
	}
}

// checkTask ends the drill if the stages are not those of the counts, the first of them
// the pilot, if their weights do not add up to one, or if the task's numbers do not follow
// from them.
func checkTask(l *drill.Lab, t evaluation.Task) {
	l.Helper()
	if len(t.Stages) == 0 {
		l.Fatalf("task %s has no stages", t.ID)
	}
	rollouts, rewards, weights, value, shrinkage := 0, 0.0, 0.0, 0.0, 0.0
	for _, s := range t.Stages {
		n := float64(s.Rollouts)
		rollouts, rewards, weights = rollouts+s.Rollouts, rewards+s.Rewards, weights+s.Weight
		value, shrinkage = value+s.Weight*s.Rewards/n, shrinkage+s.Weight*s.Weight/n
	}
	if pilot := t.Stages[0]; pilot.Rollouts != int(t.Pilots) || pilot.Rewards != float64(t.PilotPasses) {
		l.Fatalf("task %s: the first stage is %+v, the pilot %d of %d", t.ID, pilot, t.PilotPasses, t.Pilots)
	}
	n, passes := int(t.Pilots+t.Continuations), float64(t.PilotPasses+t.ContinuationPasses)
	if rollouts != n || rewards != passes {
		l.Fatalf("task %s: %v of %d rollouts passed in its stages, want %v of %d", t.ID, rewards, rollouts, passes, n)
	}
	if !near(weights, 1) {
		l.Fatalf("task %s: the weights of its stages add up to %v", t.ID, weights)
	}
	if !near(value, t.Estimate) || !near(shrinkage, t.Shrinkage) {
		l.Fatalf("task %s: its estimate is %v with the shrinkage %v, by its stages %v with %v",
			t.ID, t.Estimate, t.Shrinkage, value, shrinkage)
	}
}

// near reports whether two numbers are the same except for rounding.
func near(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }

// boxed is a result in the form in which answers are asked for.
var boxed = regexp.MustCompile(`\\boxed\{([^{}]*)\}`)

// recount counts the rollouts of a complete evaluation again, stage by stage, from their
// texts and nothing else that the program has worked out: a rollout passes if the last
// box in it holds the task's answer, letter for letter. It ends the drill if the stages or
// the verdicts differ from that, or if a rollout that counts has no text or no verdict. A
// rollout that is there twice ends the reading.
func recount(l *drill.Lab, folder string, r *evaluation.Result, answers map[string]string) {
	l.Helper()
	passed, judged := map[rollout.ID]bool{}, map[rollout.ID]bool{}
	for one, err := range rollout.Responses([]string{filepath.Join(folder, "rollouts.parquet")}) {
		l.OK(err)
		if int(one.TaskIndex) >= len(r.Rows) || one.TaskID != r.Rows[one.TaskIndex].ID {
			l.Fatalf("%s: task %d is %s", folder, one.TaskIndex, one.TaskID)
		}
		boxes := boxed.FindAllStringSubmatch(one.Text, -1)
		passed[one.ID()] = len(boxes) > 0 && boxes[len(boxes)-1][1] == answers[one.TaskID]
	}
	for v, err := range rollout.Scores(filepath.Join(folder, "scores.parquet")) {
		l.OK(err)
		want, there := passed[v.ID()]
		if !there || v.Correct != want {
			l.Fatalf("%s: the verdict on %v is %v, by its text %v (there: %v)", folder, v.ID(), v.Correct, want, there)
		}
		judged[v.ID()] = true
	}
	for i, t := range r.Rows {
		id := rollout.ID{Task: int32(i)}
		for k, stage := range t.Stages {
			passes := 0
			for range stage.Rollouts {
				if !judged[id] {
					l.Fatalf("%s: %v counts and has no verdict", folder, id)
				}
				passes += one(passed[id])
				id.Rollout++
			}
			if float64(passes) != stage.Rewards {
				l.Fatalf("%s: task %s has %v of %d passes in stage %d, by its rollouts %d",
					folder, t.ID, stage.Rewards, stage.Rollouts, k, passes)
			}
		}
	}
}

// completion is how rewards depend on the time to completion in an evaluation: the pass
// rates of the half of its pilot that was answered faster, and of the other half.
func completion(l *drill.Lab, folder string) (fast, slow float64) {
	l.Helper()
	path := filepath.Join(folder, "requests.parquet")
	rows, _, err := rowfile.ReadFile[evaluation.Request](path)
	l.OK(err)
	rows = slices.DeleteFunc(rows, func(r evaluation.Request) bool {
		return r.Phase != "pilot" || r.Finished == nil || r.Passed == nil
	})
	if len(rows) < 2 {
		l.Fatalf("%s has %d pilot rollouts with rewards", path, len(rows))
	}
	slices.SortFunc(rows, func(a, b evaluation.Request) int {
		return cmp.Compare(*a.Finished-a.Submitted, *b.Finished-b.Submitted)
	})
	half := len(rows) / 2
	for i, r := range rows {
		if i < half {
			fast += float64(one(*r.Passed)) / float64(half)
		} else {
			slow += float64(one(*r.Passed)) / float64(len(rows)-half)
		}
	}
	return fast, slow
}
