package logs

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// harbor is jobs/<job>/<trial>/result.json of Harbor: a file for every trial.
var harbor = format{
	name: "harbor",
	is: func(path string, h head) (string, bool) {
		return filepath.Dir(filepath.Dir(path)), strings.HasSuffix(path, ".json") && h.has("task_name", "trial_name", "agent_info")
	},
	read: readHarbor,
}

// harborTrial is a trial of Harbor.
type harborTrial struct {
	ID      string         `json:"id"`
	Task    jsontext.Value `json:"task_name"`
	Source  string         `json:"source"`
	Started string         `json:"started_at"`
	Agent   struct {
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
	Result struct {
		Input  *float64 `json:"n_input_tokens"`
		Output *float64 `json:"n_output_tokens"`
	} `json:"agent_result"`
}

// fair are exceptions by which the agent itself ended a trial: it counts, as failed if
// nothing was verified. Other exceptions are of the machinery.
var fair = []string{
	"AgentTimeoutError", "ContextWindowExceededError", "OutputTokenExceededError", "ContextLengthExceededError",
	"OutputLengthExceededError", "AgentSafetyRefusalError", "ContentPolicyViolationError",
}

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
	d, err := b.draft(cmp.Or(t.Source, folder(path, 1)), model)
	if err != nil {
		return err
	}
	if d.Created == "" || t.Started != "" && t.Started < d.Created {
		d.Created = t.Started
	}
	var scores []scored
	for _, r := range t.Verifier.Rewards {
		s := scored{name: r.name, value: r.value}
		if r.name == "reward" { // before others
			scores = slices.Insert(scores, 0, s)
		} else if r.value.Kind() != '"' {
			scores = append(scores, s)
		}
	}
	id, err := idOf(t.Task)
	if err != nil {
		return err
	}
	r := Rollout{Number: d.next(id), PromptTokens: tokens(t.Result.Input), CompletionTokens: tokens(t.Result.Output), Identity: identity(t.ID)}
	switch own := slices.Contains(fair, t.Exception.Type); {
	case t.Exception.Type != "" && !own:
		d.without("the trial ended in " + t.Exception.Type)
		return nil
	case own && len(scores) == 0:
		d.note("trials that ended in %s without a reward count as failed", t.Exception.Type)
		return d.add(id, r)
	}
	return d.take(id, r, scores)
}

// terminalBench is <run>/<task>/<trial>/results.json of Terminal-Bench 1, a file for
// every trial, or <run>/results.json, which has all of them.
var terminalBench = format{
	name: "terminal-bench",
	is: func(path string, h head) (string, bool) {
		run := filepath.Dir(path)
		if !h.has("results") {
			run = filepath.Dir(filepath.Dir(run))
		}
		return run, strings.HasSuffix(path, ".json") && h.has("is_resolved", "trial_name")
	},
	read: readTerminalBench,
}

// terminalTrial is a trial, or all trials of a run.
type terminalTrial struct {
	Results  []terminalTrial `json:"results"`
	ID       string          `json:"id"`
	Task     jsontext.Value  `json:"task_id"`
	Trial    string          `json:"trial_name"`
	Resolved jsontext.Value  `json:"is_resolved"`
	Input    *float64        `json:"total_input_tokens"`
	Output   *float64        `json:"total_output_tokens"`
}

// trialNumber is the number in the name of a trial, "hello.2-of-5.run".
var trialNumber = regexp.MustCompile(`\.(\d{1,6})-of-\d+\.`)

func readTerminalBench(b *book, path string) error {
	var t terminalTrial
	if err := object(path, &t); err != nil {
		return err
	}
	var about struct {
		Model     string `json:"model_name"`
		Agent     string `json:"agent_name"`
		Benchmark string `json:"dataset_name"`
		Started   string `json:"start_time"`
	}
	trials, place := t.Results, "run_metadata.json"
	if trials == nil {
		trials, place = []terminalTrial{t}, "../../"+place
	} else if len(b.paths) > 1 {
		return nil // it repeats the trials
	}
	beside(path, place, &about)
	d, err := b.draft(about.Benchmark, joined("+", about.Model, about.Agent))
	if err != nil {
		return err
	}
	d.Created = about.Started
	for _, t := range trials {
		id, err := idOf(t.Task)
		number := d.next(id)
		if match := trialNumber.FindStringSubmatch(t.Trial); match != nil {
			number, _ = strconv.Atoi(match[1])
		}
		r := Rollout{Number: number, PromptTokens: tokens(t.Input), CompletionTokens: tokens(t.Output), Identity: identity(t.ID)}
		if err == nil {
			err = d.take(id, r, []scored{{name: "is_resolved", value: t.Resolved}})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
