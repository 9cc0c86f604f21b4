package evaluated

import (
	"fmt"
	"path/filepath"
	"regexp"

	"speceval/internal/rollout"
)

// boxed is a result in the form in which answers are asked for.
var boxed = regexp.MustCompile(`\\boxed\{([^{}]*)\}`)

// Recount counts the rollouts of a complete evaluation again, stage by stage, from their
// texts and nothing else that the program has worked out: a rollout passes if the last
// box in it holds the task's answer, letter for letter. It returns an error if the stages
// or the verdicts say something else, if a rollout that counts is missing, or if one is
// there twice.
func Recount(folder string, r *Result, answers map[string]string) error {
	counted := make([][]Stage, len(r.Rows)) // without weights
	for i, t := range r.Rows {
		counted[i] = make([]Stage, len(t.Stages))
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
		passed[one.ID()] = passes(one.Text, answers[one.TaskID])
		r.Rows[one.TaskIndex].count(counted[one.TaskIndex], int(one.Rollout), passed[one.ID()])
	}
	for i, t := range r.Rows {
		for k, says := range t.Stages {
			if c := counted[i][k]; c.Rollouts != says.Rollouts || c.Rewards != says.Rewards {
				return fmt.Errorf("%s: task %s has %v of %d passes in stage %d, by its rollouts %v of %d", folder, t.ID, says.Rewards, says.Rollouts, k, c.Rewards, c.Rollouts)
			}
		}
	}
	return verdicts(folder, r, passed)
}

// passes tells whether an answer is right.
func passes(text, answer string) bool {
	boxes := boxed.FindAllStringSubmatch(text, -1)
	return len(boxes) > 0 && boxes[len(boxes)-1][1] == answer
}

// count counts the n-th rollout in its stage, unless it is surplus.
func (t Task) count(stages []Stage, n int, passed bool) {
	for k, says := range t.Stages {
		if n < says.Rollouts {
			stages[k].Rollouts++
			if passed {
				stages[k].Rewards++
			}
			return
		}
		n -= says.Rollouts
	}
}

// verdicts returns an error unless every rollout that counts has one, which says what its
// text does.
func verdicts(folder string, r *Result, passed map[rollout.ID]bool) error {
	has := make([]int, len(r.Rows))
	for v, err := range rollout.Scores(filepath.Join(folder, "scores.parquet")) {
		if err != nil {
			return err
		}
		says, there := passed[v.ID()]
		if !there || v.Correct != says {
			return fmt.Errorf("%s: the verdict on %v is %v, by its text %v (there: %v)", folder, v.ID(), v.Correct, says, there)
		}
		if int(v.Rollout) < r.Rows[v.TaskIndex].Pilots+r.Rows[v.TaskIndex].Continuations {
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
