// Package sampler makes the request for each rollout of a benchmark's tasks, and turns
// the answer into a rollout. Its log keeps answers while they stream in, so that an answer
// whose request is lost is continued from the part that was received.
package sampler

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"speceval/internal/benchmark"
	"speceval/internal/policy/seed"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
)

// Servers answer requests for one model. Their methods may be called concurrently.
type Servers interface {
	// Stream waits for a free place and asks; failures that another try may mend have been
	// tried again. seen hears the pieces of the answer unless it is nil.
	Stream(ctx context.Context, r vllm.Request, seen func(vllm.Piece)) (answer vllm.Completion, server string, err error)
	// Places is how many requests can be under way at a time.
	Places() int
	// Continues reports whether they can go on with an answer from a part of it, whose
	// tokens they tell.
	Continues() bool
	// ThinkEnd is the id of the token that ends the thinking; -1 if there is none.
	ThinkEnd() int32
}

// Corpus is the rollouts of one model on one benchmark.
type Corpus struct {
	Benchmark string // its id
	Model     string // its id
	Tasks     []benchmark.Task
	Sampling  vllm.Sampling
	Seed      seed.Seed // of this benchmark and model
}

// Request is the request for a rollout. If thinking is to be counted it asks for the tokens'
// ids. thinkEnd is the token that ends the thinking, -1 if none does.
func (c *Corpus) Request(id rollout.ID, thinkEnd int32) vllm.Request {
	task := &c.Tasks[id.Task]
	r := Asked(c.Sampling, task)
	r.ID = fmt.Sprintf("%s/%s/%s/%d", url.PathEscape(c.Benchmark), url.PathEscape(c.Model), url.PathEscape(task.ID), id.Rollout)
	r.Seed = c.seedOf(id)
	r.TokenIDs = c.thinks() && thinkEnd >= 0
	return r
}

// Asked is the request for an answer to a task: all its turns.
func Asked(s vllm.Sampling, task *benchmark.Task) vllm.Request {
	r := s.Request(task.SystemPrompt, task.UserPrompt)
	user := len(r.Messages) - 1
	for i, turn := range task.History {
		r.Messages = slices.Insert(r.Messages, user+i, vllm.Message(turn))
	}
	return r
}

// seedOf is a number of 63 bits that depends on the corpus's seed, the task's id
// and the rollout, and on nothing else.
func (c *Corpus) seedOf(id rollout.ID) int64 {
	stream := c.Seed.Child(c.Tasks[id.Task].ID).Index(int(id.Rollout)).Stream()
	return int64(stream.Uint64() >> 1)
}

// Rollout returns the rollout of an answer from a server of the given name. Token counts
// that the server did not report are 0, which no answer has. An answer that ended in a way
// that no rollout ends in is an error.
func (c *Corpus) Rollout(id rollout.ID, answer *vllm.Completion, server string, thinkEnd int32) (*rollout.Rollout, error) {
	if err := answer.Ended(server); err != nil {
		return nil, err
	}
	task := &c.Tasks[id.Task]
	return &rollout.Rollout{
		Benchmark: c.Benchmark, Model: c.Model, TaskIndex: id.Task, TaskID: task.ID,
		Rollout: id.Rollout, Seed: c.seedOf(id),
		PromptTokens: int32(max(0, answer.Usage.Prompt)), CompletionTokens: int32(max(0, answer.Usage.Completion)),
		ReasoningTokens: c.reasoningTokens(answer, thinkEnd),
		FinishReason:    answer.Finish, Text: answer.Text, Reasoning: answer.Reasoning,
		LatencySeconds: answer.Finished.Sub(answer.Sent).Seconds(), Server: server,
		Metadata: task.Metadata,
	}, nil
}

// thinks reports whether the model is asked to think.
func (c *Corpus) thinks() bool { return c.Sampling.TemplateArguments["enable_thinking"] == true }

// reasoningTokens counts the tokens before the end of the thinking: as the
// server tells, or by the token ids. Without an end it is all of them.
func (c *Corpus) reasoningTokens(answer *vllm.Completion, thinkEnd int32) *int32 {
	n := int32(answer.Usage.Reasoning)
	switch {
	case n >= 0:
	case !answer.Usage.Counted():
		return nil
	case !c.thinks():
		n = 0
	case answer.TokenIDs == nil:
		return nil
	default:
		if n = int32(slices.Index(answer.TokenIDs, thinkEnd)); n < 0 {
			n = int32(len(answer.TokenIDs))
		}
	}
	return &n
}
