package rollout

import (
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
// of a journal.
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
}

// ID of the rollout.
func (s *Score) ID() ID { return ID{s.TaskIndex, s.Rollout} }

// Reward is that of the verdict, from 0 to 1.
func (s *Score) Reward() float64 {
	if s.Correct {
		return 1
	}
	return 0
}

func (s *Score) size() int { return 160 + len(s.Answer) + len(s.Note) }

// WriteScores writes scores as one Parquet file, in the order given, with the
// given footer key-values. It stops at the first error of either side, and
// holds a row group at a time.
func WriteScores(w io.Writer, scores iter.Seq2[*Score, error], footer map[string]string) error {
	return write(w, scores, (*Score).size, footer)
}

// Scores reads the file of scores at path, of one benchmark and model, as
// [Responses] reads parts.
func Scores(path string) iter.Seq2[*Score, error] {
	return inOrder([]string{path}, ScoreSchema, func(s *Score) place {
		return place{s.Benchmark, s.Model, s.TaskID, s.ID()}
	})
}
