package experiment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/internal/servers/launcher"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
)

// KeyVariable is the environment variable with the key of workers that name none. It is
// theirs where all workers are on one host, so that no server gets the key of another; the
// judge gets it only where judge.key_env names it.
const KeyVariable = "SPECEVAL_API_KEY"

// Servers are the workers of the experiment.
func Servers(cfg *config.Config, o Outside) *pool.Servers {
	return pool.New(servingSettings(cfg, o))
}

// Judges are the servers of the judge, which get a key where one is named for them.
func Judges(cfg *config.Config, o Outside) *pool.Servers {
	return pool.New(judgeSettings(cfg, o))
}

func judgeSettings(cfg *config.Config, o Outside) pool.Settings {
	s := servingSettings(cfg, o)
	w := pool.Worker{Name: "judge", URLs: cfg.Judge.URLs, KeyHint: "no key is sent to the judge: name the environment variable with its key in judge.key_env"}
	if cfg.Judge.KeyEnv != "" {
		setKey(&w, o.Environment, cfg.Judge.KeyEnv, "the judge")
	}
	s.Workers = []pool.Worker{w}
	return s
}

func servingSettings(cfg *config.Config, o Outside) pool.Settings {
	o.Out = cmp.Or(o.Out, cfg.Experiment.Out)
	s := pool.Settings{
		Window: cfg.Systems.Window, Attempts: cfg.Serving.Attempts, Report: o.Report,
		Outage:      time.Duration(cfg.Serving.OutageSeconds) * time.Second,
		Hang:        time.Duration(cfg.Serving.HangSeconds) * time.Second,
		Start:       time.Duration(cfg.Serving.StartSeconds) * time.Second,
		Environment: withoutKeys(o.Environment, cfg),
		Logs:        cmp.Or(o.Logs, filepath.Join(o.Out, dag.LogsDir)),
	}
	oneHost := onOneHost(cfg.Workers)
	for _, w := range cfg.Workers {
		worker, owner := pool.Worker{Name: w.Name, URLs: w.URLs}, "worker "+w.Name
		if w.KeyEnv != "" || oneHost {
			setKey(&worker, o.Environment, cmp.Or(w.KeyEnv, KeyVariable), owner)
			if w.KeyEnv == "" && worker.Key == "" {
				worker.KeyFault = nil // nothing asks for one
			}
		} else {
			worker.KeyHint = fmt.Sprintf("no key is sent to %s, since workers are on several hosts: name the environment variable with its key in key_env, or as --worker URL,key_env=NAME", owner)
		}
		if w.Launch != "" {
			worker.Recipe = &launcher.Recipe{
				Command: w.Launch, Arguments: w.Arguments, Environment: w.Environment,
				Port: w.Port, Replicas: cfg.Systems.Replicas,
			}
			if gpus := Variable(o.Environment, "CUDA_VISIBLE_DEVICES"); gpus != "" { // as in a Slurm job
				worker.Recipe.GPUs = strings.Split(gpus, ",")
			}
			if w.Weights == config.WeightsDummy {
				worker.Prepare = weightless(o.Out)
			}
		}
		s.Workers = append(s.Workers, worker)
	}
	return s
}

// Variable returns the value of a variable in an environment; "" if it is absent.
func Variable(environment []string, name string) string {
	for _, entry := range slices.Backward(environment) { // the last counts
		if text, found := strings.CutPrefix(entry, name+"="); found {
			return text
		}
	}
	return ""
}

// setKey gives a worker the key of the variable with a name, where owner names it.
func setKey(w *pool.Worker, environment []string, name, owner string) {
	w.Key = vllm.Key(Variable(environment, name))
	w.KeyHint = fmt.Sprintf("the key of %s is taken from the environment variable %s", owner, name)
	if w.Key == "" {
		w.KeyFault = fmt.Errorf("key_env of %s names the environment variable %s, which is not set", owner, name)
	} else if fault := w.Key.Check(); fault != nil {
		w.KeyFault = fmt.Errorf("the environment variable %s: %w", name, fault)
	}
}

// onOneHost reports whether all workers are on the same host. Servers that are launched are
// on this one.
func onOneHost(workers []config.Worker) bool {
	hosts := map[string]bool{}
	for _, w := range workers {
		if w.Launch != "" {
			hosts["localhost"] = true
		}
		for _, address := range w.URLs {
			host := address
			if u, err := url.Parse(address); err == nil {
				host = strings.ToLower(u.Hostname())
			}
			if host == "127.0.0.1" || host == "::1" {
				host = "localhost"
			}
			hosts[host] = true
		}
	}
	return len(hosts) <= 1
}

// withoutKeys is an environment without the keys of servers, which are no concern of other
// programs that are started.
func withoutKeys(environment []string, cfg *config.Config) []string {
	names := []string{KeyVariable, cfg.Judge.KeyEnv}
	for _, w := range cfg.Workers {
		names = append(names, w.KeyEnv)
	}
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name != "" && slices.Contains(names, name)
	})
}

// Continues reports whether answers that are lost under way are to go on: they come in pieces.
func Continues(cfg *config.Config) bool {
	return vllm.OnLoss(cfg.Serving.OnLoss) != vllm.AskAgain && vllm.FieldsNamed(cfg.Sampling.LeaveOut)&vllm.LeaveStream == 0
}

// ServedModel is a model of the experiment as servers must have it.
func ServedModel(cfg *config.Config, m config.Model) pool.Model {
	return pool.Model{
		ID: m.ID,
		Launch: launcher.Model{
			Path: m.Path, Served: m.Served, MaxSequences: m.MaxSequences,
			ContextTokens: cfg.Sampling.ContextTokens, ReasoningParser: m.ReasoningParser, ThinkingBudget: m.ThinkingBudget > 0,
		},
		Requires: pool.Requirement{
			Model: m.Served, ContextTokens: cfg.Sampling.ContextTokens, Version: cfg.Serving.Version,
			Sampling: Sampling(cfg, m),
		},
	}
}

// Sampling is how a model of the experiment is asked. Only the chat template of a model that can
// think has an argument, whether to.
func Sampling(cfg *config.Config, m config.Model) vllm.Sampling {
	s := vllm.Sampling{
		Model: m.Served, Temperature: cfg.Sampling.Temperature, TopP: cfg.Sampling.TopP, TopK: cfg.Sampling.TopK,
		MaxTokens: cfg.Sampling.MaxTokens, LeaveOut: vllm.FieldsNamed(cfg.Sampling.LeaveOut), ThinkingBudget: m.ThinkingBudget,
	}
	if m.Thinking || m.ReasoningParser != "" {
		s.TemplateArguments = map[string]any{"enable_thinking": m.Thinking}
	}
	return s
}

// ModelText is the part of a model's configuration that its rollouts depend on.
func ModelText(m config.Model) string {
	text, _ := json.Marshal([]any{m.ID, m.Path, m.Thinking, m.ThinkingBudget, m.ReasoningParser}) // cannot fail
	return string(text)
}

// Unparted reports whether the prompts of a model open its thinking and no server separates
// it from the answer.
func Unparted(m config.Model) bool { return m.Thinking && m.ReasoningParser == "" }
