package experiment

import (
	"reflect"
	"testing"

	"speceval/pipeline/config"
)

func TestWhatServersAreToldOfThinking(t *testing.T) {
	for _, tt := range []struct {
		model config.Model
		want  map[string]any
		proof bool
	}{
		{config.Model{ID: "plain"}, nil, false},
		{config.Model{ID: "thinks", Thinking: true}, map[string]any{"enable_thinking": true}, false},
		{config.Model{ID: "bounded", Thinking: true, ThinkingBudget: 8, ReasoningParser: "qwen3"}, map[string]any{"enable_thinking": true}, true},
		{config.Model{ID: "could think", ReasoningParser: "qwen3"}, map[string]any{"enable_thinking": false}, false},
	} {
		m := ServedModel(config.Default(), tt.model)
		if !reflect.DeepEqual(m.Requires.TemplateArguments, tt.want) || m.Requires.ThinkingBudget != tt.proof || m.Launch.ThinkingBudget != tt.proof {
			t.Errorf("%s: %+v", tt.model.ID, m)
		}
	}
}

func TestRolloutsDependOnTheModelNotOnItsServer(t *testing.T) {
	base := config.Model{ID: "m", Title: "M", Path: "p", Served: "m", Thinking: true, ThinkingBudget: 5, ReasoningParser: "r", MaxSequences: 8}
	change := func(change func(m *config.Model)) string {
		m := base
		change(&m)
		return ModelText(m)
	}
	same := change(func(m *config.Model) { m.Title, m.Served, m.MaxSequences = "N", "n", 9 })
	if same != ModelText(base) {
		t.Errorf("%s depends on title, served name or sequences", same)
	}
	for _, other := range []string{
		change(func(m *config.Model) { m.ID = "n" }), change(func(m *config.Model) { m.Path = "q" }), change(func(m *config.Model) { m.Thinking = false }),
		change(func(m *config.Model) { m.ThinkingBudget = 6 }), change(func(m *config.Model) { m.ReasoningParser = "" }),
	} {
		if other == ModelText(base) {
			t.Errorf("%s does not tell a change", other)
		}
	}
}

func TestPublishedRunsTellWhatRolloutsTake(t *testing.T) {
	costs, err := publishedCosts()
	if err != nil {
		t.Fatal(err)
	}
	if len(costs) != 107 {
		t.Errorf("%d benchmarks and models, want 107", len(costs))
	}
	for key, c := range costs {
		if c.tokens < 1 || c.tokens > 16384+1024 || c.gpuHours <= 0 {
			t.Errorf("%v: %+v", key, c)
		}
	}
	got := costs.expect("aime24", "qwen3_5_4b", 30*1024, 16384)
	if len(got) != 3 || got[0].Amount != 30720 || got[1].Amount < 30720*4000 || got[1].Amount > 30720*16384 {
		t.Errorf("aime24 of Qwen3.5-4B takes %v", got)
	}
}
