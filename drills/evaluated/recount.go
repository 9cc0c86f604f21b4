package evaluated

import (
	"fmt"
	"path/filepath"
	"regexp"

	"speceval/internal/rollout"
)

// boxed is a result in the form in which answers are asked for.
var boxed = regexp.MustCompile(`\\boxed\{([^{}]*)\}`)

// Recount counts the rollouts of a complete evaluation again, from their texts and
// nothing else that the program has worked out: a rollout passes if the last box in
// it holds the task's answer, letter for letter. It is an error if the result says
// something else of a task, if a rollout that counts is missing, or if one is there
// twice.
func Recount(folder string, r *Result, answers map[string]string) error {
	counted := make([]Task, len(r.Rows))
	seen := map[rollout.ID]bool{}
	for one, err := range rollout.Responses([]string{filepath.Join(folder, "rollouts.parquet")}) {
		switch {
		case err != nil:
			return err
		case int(one.TaskIndex) >= len(r.Rows) || one.TaskID != r.Rows[one.TaskIndex].ID:
			return fmt.Errorf("%s: task %d is %s", folder, one.TaskIndex, one.TaskID)
		case seen[one.ID()]:
			return fmt.Errorf("%s: %v is there twice", folder, one.ID())
		}
		seen[one.ID()] = true
		counted[one.TaskIndex].add(one, r.Rows[one.TaskIndex], answers)
	}
	for i, t := range r.Rows {
		c := counted[i]
		if c.Pilots != t.Pilots || c.PilotPasses != t.PilotPasses || c.Continuations != t.Continuations || c.ContinuationPasses != t.ContinuationPasses {
			return fmt.Errorf("%s: task %s has %d of %d and %d of %d passes, by its rollouts %d of %d and %d of %d", folder, t.ID,
				t.PilotPasses, t.Pilots, t.ContinuationPasses, t.Continuations, c.PilotPasses, c.Pilots, c.ContinuationPasses, c.Continuations)
		}
	}
	return nil
}

// add counts a rollout, unless it is surplus.
func (t *Task) add(one *rollout.Response, says Task, answers map[string]string) {
	passed := 0
	if boxes := boxed.FindAllStringSubmatch(one.Text, -1); len(boxes) > 0 && boxes[len(boxes)-1][1] == answers[one.TaskID] {
		passed = 1
	}
	switch n := int(one.Rollout); {
	case n < says.Pilots:
		t.Pilots++
		t.PilotPasses += passed
	case n < says.Pilots+says.Continuations:
		t.Continuations++
		t.ContinuationPasses += passed
	}
}
