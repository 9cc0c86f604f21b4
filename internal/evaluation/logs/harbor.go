package logs

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// harborTrial is a trial of Harbor.
type harborTrial struct {
	ID     string `json:"id"`
	Task   taskID `json:"task_name"`
	Source string `json:"source"`
	Agent  struct {
		Name  string `json:"name"`
		Model struct {
			Name     string `json:"name"`
			Provider string `json:"provider"`
		} `json:"model_info"`
	} `json:"agent_info"`
	Verifier struct {
		Rewards members `json:"rewards"`
	} `json:"verifier_result"`
	Exception struct {
		Type string `json:"exception_type"`
	} `json:"exception_info"`
	Valid  *bool `json:"reward_valid"` // Harbor counts the reward; earlier versions do not say
	Result struct {
		Input  jsontext.Value `json:"n_input_tokens"`
		Output jsontext.Value `json:"n_output_tokens"`
	} `json:"agent_result"`
}

// fair are exceptions by which the agent itself ended a trial: it counts, as failed if
// nothing was verified. Where Harbor does not say more, others are of the machinery.
var fair = []string{
	"AgentTimeoutError", "ContextWindowExceededError", "OutputTokenExceededError", "ContextLengthExceededError",
	"OutputLengthExceededError", "AgentSafetyRefusalError", "ContentPolicyViolationError",
}

// readHarbor reads jobs/<job>/<trial>/result.json of Harbor: a file for every trial.
func readHarbor(b *book, path string) error {
	var t harborTrial
	if err := object(path, &t); err != nil {
		return err
	}
	// The agent together with its model is evaluated.
	model := joined("+", joined("/", t.Agent.Model.Provider, t.Agent.Model.Name), t.Agent.Name)
	if t.Agent.Model.Name == "" {
		model = t.Agent.Name
	}
	d := b.draft(cmp.Or(t.Source, folder(path, 1)), model)
	var scores members
	for _, r := range t.Verifier.Rewards {
		if r.name == "reward" { // before others
			scores = slices.Insert(scores, 0, member{r.name, r.value})
		} else if r.value.Kind() != '"' {
			scores = append(scores, member{r.name, r.value})
		}
	}
	r := row{Rollout: ioTokens(t.Result).rollout(d.next(t.Task), t.ID), id: t.Task, scores: scores}
	switch own := slices.Contains(fair, t.Exception.Type); {
	case t.Valid != nil && *t.Valid:
	case t.Exception.Type != "" && !own:
		r.left = "the trial ended in " + t.Exception.Type
	case t.Valid != nil && len(scores) > 0:
		r.left = "Harbor says that its reward is not valid"
	case own && len(scores) == 0:
		d.note("trials that ended in %s without a reward count as failed", t.Exception.Type)
		return d.addRollout(t.Task, r.Rollout)
	}
	return d.addScored(r)
}
