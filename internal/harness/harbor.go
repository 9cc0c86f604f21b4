package harness

import (
	"fmt"
	"path/filepath"
	"slices"
)

// harborFormat is jobs/<job>/<trial>/result.json of Harbor: a file for every trial.
func harborFormat() format {
	return format{
		name: "harbor",
		is: func(f *file) bool {
			return f.named(".json") && f.starts('{') && f.has("task_name", "trial_name", "agent_info")
		},
		read: func(files []*file, c Choice) ([]Log, error) {
			trials := &trials{format: "harbor", choice: c}
			for _, f := range files {
				if err := trials.harbor(f); err != nil {
					return nil, fmt.Errorf("%s: %w", f.path, err)
				}
			}
			return trials.done()
		},
	}
}

// trials are logs of agents, which have a file for every trial.
type trials struct {
	format string
	choice Choice
	keys   []string // of the logs
	logs   map[string]*trialLog
}

// trialLog is one of them that is being read.
type trialLog struct {
	*logBuilder
	chooser
}

// maxLogs is how many benchmarks and models the files at one place may be of.
const maxLogs = 1 << 14

// of is the log of some job, benchmark and model.
func (t *trials) of(job, benchmark, model string) (*trialLog, error) {
	key := job + "\x00" + benchmark + "\x00" + model
	if t.logs[key] == nil {
		if len(t.keys) == maxLogs {
			return nil, fmt.Errorf("its rows, or the files of its folder, are of more than %d benchmarks, models or jobs", maxLogs)
		}
		if t.logs == nil {
			t.logs = make(map[string]*trialLog)
		}
		t.keys = append(t.keys, key)
		t.logs[key] = &trialLog{newLogBuilder(Log{Format: t.format, Source: job, Benchmark: benchmark, Model: model, Complete: true}), chooser{wanted: t.choice.Scorer}}
	}
	return t.logs[key], nil
}

// done is all logs.
func (t *trials) done() (logs []Log, err error) {
	for _, key := range t.keys {
		one := t.logs[key]
		if len(one.digests) == 1 { // a trial alone, or a file of all
			one.log.Source = one.file
		}
		if err = one.settle(one.logBuilder); err == nil {
			var log Log
			log, err = one.done()
			logs = append(logs, log)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.log.Source, err)
		}
	}
	return logs, nil
}

// fair are exceptions by which the agent itself ended a trial: what the verifier says
// of it is of the agent. Other exceptions are of the machinery.
var fair = []string{
	"AgentTimeoutError", "ContextWindowExceededError", "OutputTokenExceededError", "ContextLengthExceededError",
	"OutputLengthExceededError", "AgentSafetyRefusalError", "ContentPolicyViolationError",
}

// harbor reads a trial. An agent with a model is what is evaluated.
func (t *trials) harbor(f *file) error {
	r, err := f.object("id", "task_name", "source", "agent_info.name", "agent_info.model_info.name", "agent_info.model_info.provider",
		"verifier_result.rewards.*", "exception_info.exception_type", "agent_result.n_input_tokens", "agent_result.n_output_tokens", "started_at")
	if err != nil {
		return err
	}
	job := filepath.Dir(filepath.Dir(f.path))
	benchmark := r.text("source")
	if benchmark == "" {
		benchmark = f.folder(1)
	}
	log, err := t.of(job, benchmark, agent(r.text("agent_info.name"), r.text("agent_info.model_info.provider"), r.text("agent_info.model_info.name")))
	if err == nil {
		err = log.from(f)
	}
	if err != nil {
		return err
	}
	if started := r.text("started_at"); log.log.Created == "" || started != "" && started < log.log.Created {
		log.log.Created = started
	}
	if exception := r.text("exception_info.exception_type"); exception != "" && !slices.Contains(fair, exception) {
		log.without("the trial ended in " + exception)
		return nil
	}
	scores := r.scores("verifier_result.rewards.", "")
	slices.SortStableFunc(scores, func(a, b scored) int { // the reward before others
		return rank(a.name) - rank(b.name)
	})
	id := r.id("task_name")
	return log.take(log.logBuilder, id, Rollout{
		Number: log.next(id), PromptTokens: r.count("agent_result.n_input_tokens"), CompletionTokens: r.count("agent_result.n_output_tokens"),
		Identity: identity(r.text("id")),
	}, scores)
}

func rank(name string) int {
	if name == "reward" {
		return 0
	}
	return 1
}

// agent is the name of an agent with a model.
func agent(name, provider, model string) string {
	if provider != "" && model != "" {
		model = provider + "/" + model
	}
	switch {
	case model == "":
		return name
	case name == "":
		return model
	}
	return model + "+" + name
}
