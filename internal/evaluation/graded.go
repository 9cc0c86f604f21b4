package evaluation

import (
	"io"
	"slices"

	"speceval/internal/store/rowfile"
)

// gradedTask is a row of tasks.parquet where a reward is neither 0 nor 1. Passes are
// then rewards of 1.
type gradedTask struct {
	Task
	Rewards float64 `parquet:"rewards"` // their sum, of the rollouts that count
}

// writeTasks writes tasks with the sums of their rewards, where passes do not say them.
func writeTasks(w io.Writer, rows []Task, footer map[string]string) error {
	if !Graded(rows) {
		return rowfile.Write(w, rows, footer)
	}
	graded := make([]gradedTask, len(rows))
	for i, t := range rows {
		graded[i].Task = t
		_, graded[i].Rewards = t.Counts()
	}
	return rowfile.Write(w, graded, footer)
}

// Graded reports whether a reward that counts is neither 0 nor 1.
func Graded(rows []Task) bool {
	return slices.ContainsFunc(rows, func(t Task) bool {
		_, rewards := t.Counts()
		return rewards != float64(t.PilotPasses+t.ContinuationPasses)
	})
}

// graded reports whether a verdict by some rules is neither pass nor failure, of those
// that do not count too.
func (s *store) graded(rules string) (bool, error) {
	for _, id := range s.verdicts.IDs() {
		v, err := s.verdicts.Read(id)
		if err != nil {
			return false, err
		}
		if v.Rules == rules && v.Graded() {
			return true, nil
		}
	}
	return false, nil
}
