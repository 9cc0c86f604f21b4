package rollout

import (
	"fmt"
	"io"
	"iter"
)

// ScoreSchema is the value of the footer key speceval.schema of a file of
// scores.
const ScoreSchema = "scores/1"

// RolloutsKey is the footer key of a file of scores under which stands what tells
// the rollouts that were scored from others.
const RolloutsKey = "speceval.rollouts"

// Score is the verdict on one rollout, as a row of a file of scores and a line
// of a journal. A file in which some rewards are neither 0 nor 1 has them in a
// further column, reward.
type Score struct {
	Benchmark string `parquet:"benchmark" json:"benchmark"`
	Model     string `parquet:"model" json:"model"`
	TaskIndex int32  `parquet:"task_index" json:"task_index"`
	TaskID    string `parquet:"task_id" json:"task_id"`
	Rollout   int32  `parquet:"rollout" json:"rollout"`
	Correct   bool   `parquet:"correct" json:"correct"`
	Answer    string `parquet:"answer" json:"answer"` // as the scorer read it, "" if it read none
	Scorer    string `parquet:"scorer" json:"scorer"` // and its version
	Note      string `parquet:"note" json:"note"`     // for people, may be ""

	Metadata string `parquet:"metadata,maybe" json:"metadata,omitempty"` // of the task, a JSON object; "" for none

	// Partial is the reward of one that is not correct, from 0 to below 1.
	Partial float64 `parquet:"-" json:"reward,omitempty"`
}

// ID of the rollout.
func (s *Score) ID() ID { return ID{s.TaskIndex, s.Rollout} }

// Reward is the reward of the verdict, from 0 to 1.
func (s *Score) Reward() float64 {
	if s.Correct {
		return 1
	}
	return s.Partial
}

// Grade sets the reward. The error names the rollout of one that [Score.Check]
// refuses.
func (s *Score) Grade(reward float64) error {
	s.Correct, s.Partial = reward == 1, reward
	if s.Correct {
		s.Partial = 0
	}
	return s.Check()
}

// Check is an error if the reward is no number from 0 to 1. It names the benchmark,
// the task and the rollout.
func (s *Score) Check() error {
	if s.Partial >= 0 && s.Partial < 1 && !(s.Correct && s.Partial != 0) {
		return nil
	}
	return fmt.Errorf("benchmark %s: task %s: rollout %d has a reward of %v from %s: want a number from 0 to 1, and 1 for what is correct alone",
		s.Benchmark, s.TaskID, s.Rollout, s.Partial, s.Scorer)
}

// Graded reports whether the reward is neither 0 nor 1.
func (s *Score) Graded() bool { return s.Partial != 0 }

func (s *Score) size() int { return 160 + len(s.Answer) + len(s.Note) }

// WriteScores writes scores as one Parquet file, in the order given, with the given footer
// key-values. It stops at the first error of either side, and at a reward between 0 and 1,
// and holds a row group at a time.
func WriteScores(w io.Writer, scores iter.Seq2[*Score, error], footer map[string]string) error {
	return write(w, scores, func(s *Score) (Score, error) {
		if s.Graded() {
			return *s, fmt.Errorf("benchmark %s: task %s: rollout %d has a reward of %v, in a file without rewards", s.Benchmark, s.TaskID, s.Rollout, s.Partial)
		}
		return *s, s.Check()
	}, (*Score).size, footer)
}

// WriteGraded is WriteScores with the column of rewards.
func WriteGraded(w io.Writer, scores iter.Seq2[*Score, error], footer map[string]string) error {
	type graded struct {
		Score
		Full float64 `parquet:"reward"`
	}
	return write(w, scores, func(s *Score) (graded, error) { return graded{*s, s.Reward()}, s.Check() }, (*Score).size, footer)
}

// storedScore is a row of a file of scores.
type storedScore struct {
	Score
	Full *float64 `parquet:"reward,maybe"`
}

// Scores reads the file of scores at path, of one benchmark and model, as
// [Responses] reads parts. It may have rewards or not. One that is no number from 0
// to 1, or does not go with the verdict, is an error as well.
func Scores(path string) iter.Seq2[*Score, error] {
	return func(yield func(*Score, error) bool) {
		for row, err := range inOrder([]string{path}, ScoreSchema, (*storedScore).key) {
			var s *Score
			if err == nil {
				s = &row.Score
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// key returns the row's key, and sets the score's reward by the column.
func (r *storedScore) key() rowKey {
	at, correct := rowKey{r.Benchmark, r.Model, r.TaskID, r.ID(), nil}, r.Correct
	if r.Full != nil {
		at.fault = r.Grade(*r.Full)
	}
	if at.fault == nil && correct != r.Correct {
		at.fault = fmt.Errorf("correct is %t beside a reward of %v", correct, *r.Full)
	}
	return at
}
