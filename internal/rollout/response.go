package rollout

import "iter"

// Response is what there is to score of a rollout: some columns of a part.
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
	return inOrder(parts, Schema, func(r *Response) place {
		return place{r.Benchmark, r.Model, r.TaskID, r.ID(), nil}
	})
}
