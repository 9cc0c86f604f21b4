package sampler

import (
	"reflect"
	"testing"

	"speceval/internal/benchmark"
	"speceval/internal/scoring"
	"speceval/internal/servers/vllm"
)

func TestAllTurnsAreAskedInOrder(t *testing.T) {
	c := Corpus{Tasks: []benchmark.Task{
		{ID: "a", UserPrompt: "u"},
		{ID: "b", SystemPrompt: "s", UserPrompt: "u", Metadata: `{"level":3}`,
			History: []scoring.Turn{{Role: "user", Content: "1+1?"}, {Role: "assistant", Content: "2"}}},
	}}
	for task, want := range [][]vllm.Message{
		{{Role: "user", Content: "u"}},
		{{Role: "system", Content: "s"}, {Role: "user", Content: "1+1?"}, {Role: "assistant", Content: "2"}, {Role: "user", Content: "u"}},
	} {
		if got := c.Request(at(int32(task), 0), -1).Messages; !reflect.DeepEqual(got, want) {
			t.Errorf("task %d: %+v, want %+v", task, got, want)
		}
	}
	r, err := c.Rollout(at(1, 0), &vllm.Completion{Text: "x", Finish: "stop"}, "server", -1)
	if err != nil || r.Metadata != `{"level":3}` {
		t.Errorf("%+v, %v", r, err)
	}
}
