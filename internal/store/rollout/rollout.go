// Package rollout keeps rollouts, the answers of a model to a task: one by one
// in a journal while they come in, so that no kill loses one that has arrived,
// and in Parquet parts when all of a part are there. Scores, the verdicts on
// them, are kept likewise.
package rollout

import (
	"cmp"
	"fmt"
	"iter"
)

// Schema is the value of the footer key speceval.schema of a part.
const Schema = "rollouts/1"

// Rollout is one answer, as a row of a part and a line of a journal.
type Rollout struct {
	Benchmark        string  `parquet:"benchmark" json:"benchmark"`
	Model            string  `parquet:"model" json:"model"`
	TaskIndex        int32   `parquet:"task_index" json:"task_index"`
	TaskID           string  `parquet:"task_id" json:"task_id"`
	Rollout          int32   `parquet:"rollout" json:"rollout"` // from 0
	Seed             int64   `parquet:"seed" json:"seed"`       // of its sampling
	PromptTokens     int32   `parquet:"prompt_tokens" json:"prompt_tokens"`
	CompletionTokens int32   `parquet:"completion_tokens" json:"completion_tokens"` // reasoning included
	ReasoningTokens  *int32  `parquet:"reasoning_tokens" json:"reasoning_tokens"`   // nil where the server did not report them
	FinishReason     string  `parquet:"finish_reason" json:"finish_reason"`
	Text             string  `parquet:"text" json:"text"`           // without reasoning
	Reasoning        string  `parquet:"reasoning" json:"reasoning"` // "" without thinking
	LatencySeconds   float64 `parquet:"latency_seconds" json:"latency_seconds"`
	Server           string  `parquet:"server" json:"server"`                     // address of the replica
	Metadata         string  `parquet:"metadata,maybe" json:"metadata,omitempty"` // of the task, a JSON object; "" for none
}

// ID names a rollout in the corpus of one benchmark and model.
type ID struct{ Task, Rollout int32 }

// ID of the rollout.
func (r *Rollout) ID() ID { return ID{r.TaskIndex, r.Rollout} }

// Response returns the scored columns of the rollout.
func (r *Rollout) Response() *Response {
	return &Response{r.Benchmark, r.Model, r.TaskIndex, r.TaskID, r.Rollout, r.FinishReason, r.Text}
}

// String is how messages name it.
func (id ID) String() string { return fmt.Sprintf("rollout %d of task %d", id.Rollout, id.Task) }

// Compare orders rollouts as files hold them: by task, then by rollout.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Task, other.Task), cmp.Compare(id.Rollout, other.Rollout))
}

// size is about how much memory the rollout takes.
func (r *Rollout) size() int {
	return 200 + len(r.Text) + len(r.Reasoning)
}

// Response is the part of a rollout that is scored: some columns of a part file.
type Response struct {
	Benchmark    string `parquet:"benchmark"`
	Model        string `parquet:"model"`
	TaskIndex    int32  `parquet:"task_index"`
	TaskID       string `parquet:"task_id"`
	Rollout      int32  `parquet:"rollout"`
	FinishReason string `parquet:"finish_reason"`
	Text         string `parquet:"text"`
}

// ID of the rollout.
func (r *Response) ID() ID { return ID{r.TaskIndex, r.Rollout} }

// Responses reads the responses of one corpus from its parts, given in order.
// It holds a row group of one part at a time, and who keeps a response keeps
// its row group. That rows are of several benchmarks or models, or not in the
// order of tasks and rollouts, is an error; errors name the file and the row,
// and end the sequence.
func Responses(parts []string) iter.Seq2[*Response, error] {
	return inOrder(parts, Schema, func(r *Response) rowKey {
		return rowKey{r.Benchmark, r.Model, r.TaskID, r.ID(), nil}
	})
}
