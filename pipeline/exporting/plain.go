package exporting

import (
	"encoding/json"
	"fmt"
	"io"
)

// plainSchema names the form json.
const plainSchema = "speceval-export/1"

// plainRollout is a rollout that counts.
type plainRollout struct {
	Task             string  `json:"task_id"`
	Rollout          int32   `json:"rollout"` // from 0
	Reward           float64 `json:"reward"`
	Answer           string  `json:"answer"`
	Scorer           string  `json:"scorer"`
	Note             string  `json:"note,omitempty"`
	Seed             int64   `json:"seed"`
	PromptTokens     int32   `json:"prompt_tokens"`
	CompletionTokens int32   `json:"completion_tokens"`
	FinishReason     string  `json:"finish_reason"`
	Text             string  `json:"text"`
	Reasoning        string  `json:"reasoning,omitempty"`
}

// plain writes one document: the result as it is stored, and the rollouts.
func (e *Evaluation) plain(w io.Writer) error {
	result, err := json.Marshal(e.Result)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "{\"schema\":%q,\n\"result\":%s,\n\"rollouts\":[", plainSchema, result); err != nil {
		return err
	}
	between := "\n"
	for a, err := range e.answers() {
		if err != nil {
			return err
		}
		row, err := json.Marshal(plainRollout{
			a.TaskID, a.Rollout.Rollout, a.verdict.Reward(), a.verdict.Answer, a.verdict.Scorer, a.verdict.Note, a.Seed,
			a.PromptTokens, a.CompletionTokens, a.FinishReason, a.Text, a.Reasoning,
		})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%s", between, row); err != nil {
			return err
		}
		between = ",\n"
	}
	_, err = io.WriteString(w, "\n]}\n")
	return err
}
