package logs

import (
	"github.com/go-json-experiment/json/jsontext"
)

// ownRollout is a rollout of the document, numbered from 0.
type ownRollout struct {
	Task       taskID         `json:"task_id"`
	Number     int            `json:"rollout"`
	Reward     jsontext.Value `json:"reward"`
	Prompt     jsontext.Value `json:"prompt_tokens"`
	Completion jsontext.Value `json:"completion_tokens"`
}

// readOwn reads the document that speceval export --format json writes.
func readOwn(b *book, path string) error {
	d := b.draft("", "")
	var document struct {
		Allocated bool             `json:"allocated"`
		Result    jsontext.Value   `json:"result"`
		Rollouts  list[ownRollout] `json:"rollouts"`
	}
	var result struct {
		Benchmark string  `json:"benchmark"`
		Model     string  `json:"model"`
		Seed      *uint64 `json:"seed"`
	}
	document.Rollouts.each = func(r *ownRollout) error {
		next := Rollout{Number: r.Number + 1, PromptTokens: -1, CompletionTokens: -1}
		if n := tokens(r.Completion); n > 0 { // 0: they were not counted
			next.PromptTokens, next.CompletionTokens = tokens(r.Prompt), n
		}
		return d.addScored(row{Rollout: next, id: r.Task, scores: members{{"reward", r.Reward}}})
	}
	err := object(path, &document)
	if err == nil {
		err = parse(document.Result, &result)
	}
	d.Benchmark, d.Model, d.Seed, d.Allocated, d.Result = result.Benchmark, result.Model, result.Seed, document.Allocated, document.Result
	return err
}
