package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// bind reads every key of the experiment from d over the values that c has, and returns the
// canonical text of all keys. Faults are collected in d.
func bind(c *Config, d *document) map[string]string {
	values, root := map[string]string{}, d.at("", d.tree)
	root.bind(c)
	executor, resources := root.table("executor"), c.Executor.Stages
	if c.Systems.Engine == EngineVLLM { // units are timed on servers, as others sample from them
		resources["systems"] = resources["generate"]
	}
	for _, stage := range executorStages {
		r, at := resources[stage], executor.table(stage)
		at.bind(&r)
		r.check(at)
		resources[stage] = r
		record(values, at.path, reflect.ValueOf(r))
	}
	for i := range c.Models {
		m := &c.Models[i]
		m.Title, m.Path, m.Served = cmp.Or(m.Title, m.ID), cmp.Or(m.Path, m.ID), cmp.Or(m.Served, m.ID)
		m.MaxSequences = cmp.Or(m.MaxSequences, 128)
	}
	for i := range c.Workers {
		c.Workers[i].Port = cmp.Or(c.Workers[i].Port, 8000)
	}
	c.check(root)
	c.Executor.check(executor, c.Workers)
	d.refuseUnknown()
	record(values, "", reflect.ValueOf(c).Elem())
	return values
}

// check holds keys to one another.
func (c *Config) check(root *table) {
	if c.Corpus.Source == SourceVLLM && c.Corpus.Profiles != "" {
		root.table("corpus").fault("profiles", `must be empty with source = "vllm", which makes profiles`)
	}
	for i := range c.Models {
		c.Models[i].check(root.at(fmt.Sprintf("model[%d]", i), nil))
	}
	for i := range c.Workers {
		c.Workers[i].check(root.at(fmt.Sprintf("worker[%d]", i), nil))
	}
	sampling := root.table("sampling")
	if c.Sampling.MaxTokens >= c.Sampling.ContextTokens {
		sampling.fault("max_tokens", "must be less than sampling.context_tokens, to leave room for the prompt")
	}
	if c.Systems.Engine == EngineVLLM && slices.Contains(c.Sampling.LeaveOut, "stream") {
		sampling.fault("leave_out", `must not have "stream" with systems.engine = "vllm": timed runs count the tokens of streams`)
	}
	c.checkSystems(root.table("systems"))
}

func (c *Config) checkSystems(t *table) {
	s, budgets := c.Systems, len(c.Experiment.Budgets)
	for _, of := range []struct {
		key     string
		repeats []int
	}{{"measured_repeats", s.MeasuredRepeats}, {"scored_repeats", s.ScoredRepeats}} {
		if n := len(of.repeats); n > 0 && n != budgets {
			t.fault(of.key, "has %d numbers for the %d budgets of experiment.budgets: one for each, or none", n, budgets)
		}
	}
	drawn := s.Lengths == LengthsDrawn
	if len(s.ScoredRepeats) > 0 && s.Engine != EngineVLLM {
		t.fault("scored_repeats", `needs engine = "vllm": the simulated engine writes no responses to score`)
	}
	if drawn && len(s.ScoredRepeats) > 0 {
		t.fault("scored_repeats", `needs lengths = "natural": what is cut at a drawn length cannot be scored`)
	}
	if drawn && c.Corpus.Source == SourceVLLM {
		t.fault("lengths", `needs corpus.source = "published": the length model knows the published profiles`)
	}
	if !drawn && slices.ContainsFunc(c.Workers, func(w Worker) bool { return w.Weights == WeightsDummy }) {
		t.fault("lengths", `must be "drawn" for a [[worker]] with weights = "dummy": what such models write is noise`)
	}
	if s.Engine == EngineVLLM && len(c.Workers) == 0 {
		t.fault("engine", `needs a [[worker]] with urls of running servers, or with a launch command`)
	}
}

func (m *Model) check(t *table) {
	if m.ThinkingBudget > 0 && !m.Thinking {
		t.fault("thinking_budget", "must be 0 or left out without thinking = true")
	}
	architecture := []int{m.ThetaCore, m.ThetaHead, m.FullAttentionLayers, m.AttentionWidth}
	if slices.Min(architecture) == 0 && slices.Max(architecture) > 0 {
		t.fault("theta_core", "needs theta_head, full_attention_layers and attention_width beside it, all positive: the FLOP proxy takes all four")
	}
}

func (w *Worker) check(t *table) {
	if w.Weights == WeightsDummy && w.Launch == "" {
		t.fault("weights", "needs a launch command: nobody can take the weights from servers that run already")
	}
	for _, entry := range w.Environment {
		if name, _, found := strings.Cut(entry, "="); !found || name == "" {
			t.fault("environment", "must have entries of the form KEY=VALUE, %q has not", entry)
		}
	}
	if (len(w.URLs) == 0) == (w.Launch == "") {
		t.fault("urls", "needs either urls of running replicas or a launch command, and not both")
	}
}
