package experiment

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/internal/clock"
	"speceval/internal/launcher"
	"speceval/internal/pool"
	"speceval/internal/serving"
	"speceval/internal/vllm"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/generate"
)

// Servers are the workers of the experiment.
func Servers(cfg *config.Config, o Outside) *serving.Servers {
	return serving.New(servingSettings(cfg, o))
}

func servingSettings(cfg *config.Config, o Outside) serving.Settings {
	s := serving.Settings{
		Window:      cfg.Systems.Window,
		Attempts:    cfg.Serving.Attempts,
		Hang:        time.Duration(cfg.Serving.HangSeconds) * time.Second,
		Outage:      time.Duration(cfg.Serving.OutageSeconds) * time.Second,
		Start:       time.Duration(cfg.Serving.StartSeconds) * time.Second,
		Environment: withoutKeys(o.Environment, cfg),
		Logs:        cmp.Or(o.Logs, filepath.Join(o.Out, dag.LogsDir)),
		Clock:       clock.Wall{},
		Memory:      availableMemory,
		Report:      o.Report,
	}
	oneHost := onOneHost(cfg.Workers)
	for _, w := range cfg.Workers {
		worker := serving.Worker{Name: w.Name, URLs: w.URLs}
		setWorkerKey(&worker, w, oneHost, o.Environment)
		if w.Launch != "" {
			worker.Recipe = &launcher.Recipe{
				Command: w.Launch, Arguments: w.Arguments, Environment: w.Environment,
				Port: w.Port, Replicas: cfg.Systems.Replicas, GPUs: visibleGPUs(o.Environment), MemoryGiB: w.MemoryGiB,
			}
			if w.Weights == config.WeightsDummy {
				worker.Prepare = weightless(o.Out)
			}
		}
		s.Workers = append(s.Workers, worker)
	}
	return s
}

// OnLoss is what to do about answers that are lost under way.
func OnLoss(cfg *config.Config) vllm.OnLoss {
	switch cfg.Serving.OnLoss {
	case config.OnLossAgain:
		return vllm.AskAgain
	case config.OnLossRefuse:
		return vllm.Refuse
	}
	return vllm.Continue
}

// visibleGPUs are those that CUDA_VISIBLE_DEVICES leaves this process, as in a
// Slurm job; nil where it says nothing.
func visibleGPUs(environment []string) []string {
	for _, v := range environment {
		if list, found := strings.CutPrefix(v, "CUDA_VISIBLE_DEVICES="); found && list != "" {
			return strings.Split(list, ",")
		}
	}
	return nil
}

// availableMemory is how many bytes new processes can have here.
func availableMemory() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	return launcher.AvailableMemory(string(text))
}

// ServedModel is what servers must be for a model of the experiment.
func ServedModel(cfg *config.Config, m config.Model) serving.Model {
	return serving.Model{
		ID: m.ID,
		Launch: launcher.Model{
			Path: m.Path, Served: m.Served, MaxSequences: m.MaxSequences,
			ContextTokens: cfg.Sampling.ContextTokens, ReasoningParser: m.ReasoningParser, ThinkingBudget: m.ThinkingBudget > 0,
		},
		Requires: pool.Requirement{
			Model: m.Served, ContextTokens: cfg.Sampling.ContextTokens, Version: cfg.Serving.Version,
			ThinkingBudget: m.ThinkingBudget > 0, TemplateArguments: templateArguments(m),
		},
	}
}

// templateArguments are the arguments of the chat template. Only a model that can
// think has one, whether to.
func templateArguments(m config.Model) map[string]any {
	if !m.Thinking && m.ReasoningParser == "" {
		return nil
	}
	return map[string]any{"enable_thinking": m.Thinking}
}

// Sampling is how a model of the experiment is asked.
func Sampling(cfg *config.Config, m config.Model) vllm.Sampling {
	return vllm.Sampling{
		Model: m.Served, Temperature: cfg.Sampling.Temperature, TopP: cfg.Sampling.TopP, TopK: cfg.Sampling.TopK,
		MaxTokens: cfg.Sampling.MaxTokens, TemplateArguments: templateArguments(m), ThinkingBudget: m.ThinkingBudget,
	}
}

// ModelText is the part of a model's configuration that its rollouts depend on.
func ModelText(m config.Model) string {
	text, _ := json.Marshal([]any{m.ID, m.Path, m.Thinking, m.ThinkingBudget, m.ReasoningParser}) // cannot fail
	return string(text)
}

// Replicas are a lease as the generate stage sees it.
type Replicas struct{ *serving.Lease }

var _ generate.Servers = Replicas{}

// Places count those of replicas that are out for a while, too.
func (r Replicas) Places() int { return r.Lease.Places }

// Versions are those of vLLM, and of the simulated fleet.
func (r Replicas) Versions() []string {
	var all []string
	for _, s := range r.Served {
		all = append(all, s.Version)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ThinkEnd is the same on all replicas: they serve one model.
func (r Replicas) ThinkEnd() int32 { return r.Served[0].ThinkEnd }
