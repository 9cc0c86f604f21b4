package launcher

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"speceval/internal/golden"
)

// TestPaperCommands has the paper's checkpoints with their limits of running sequences.
func TestPaperCommands(t *testing.T) {
	r := Recipe{Command: "vllm serve {model}", Port: 8000, Replicas: 8}
	var text bytes.Buffer
	for _, paper := range []struct {
		name      string
		sequences int
		thinking  bool
	}{
		{"Qwen2.5-3B-Instruct", 256, false}, {"Qwen2.5-7B-Instruct", 192, false}, {"Qwen2.5-32B-Instruct", 128, false},
		{"Qwen3.5-4B", 128, true}, {"Qwen3.5-9B", 128, true}, {"Qwen3.5-27B", 64, true},
	} {
		m := Model{Path: "Qwen/" + paper.name, Served: paper.name, MaxSequences: paper.sequences, ContextTokens: 32768, ThinkingBudget: paper.thinking}
		if paper.thinking {
			m.ReasoningParser = "qwen3"
		}
		for _, i := range []int{0, 7} {
			words := must(r.words(m, i))
			fmt.Fprintf(&text, "%s, replica %d, %s\n", m.Served, i, r.url(i))
			for _, v := range r.variables(m, i, "secret") {
				fmt.Fprintf(&text, "  %s\n", v)
			}
			fmt.Fprintf(&text, "  %s\n\n", strings.ReplaceAll(strings.Join(words, " "), " --", "\n    --"))
		}
	}
	golden.Check(t, "paper.txt", text.Bytes())
}

func TestRecipeWins(t *testing.T) {
	r := Recipe{
		Command:     `"/opt/my env/python" -m server --model '{model}' --tag {replica}:{port} "c d"e'f g' ""`,
		Arguments:   []string{"--max-num-seqs", "32", "--extra", `{"a": "{model}"}`},
		Environment: []string{"CUDA_VISIBLE_DEVICES=GPU-{replica}", "PORT={port}"},
		Port:        9000, Replicas: 2, GPUs: []string{"4", "GPU-ab", "7"},
	}
	m := Model{Path: "/models/a b", Served: "tiny", MaxSequences: 8, ContextTokens: 64, Flags: []string{"--load-format", "dummy"}}
	words := must(r.words(m, 1))
	begin := []string{"/opt/my env/python", "-m", "server", "--model", "/models/a b", "--tag", "1:9001", "c def g", "", "--host", "127.0.0.1", "--port", "9001"}
	if !slices.Equal(words[:len(begin)], begin) {
		t.Errorf("the command begins with %q, want %q", words[:len(begin)], begin)
	}
	end := []string{"--load-format", "dummy", "--seed", "1", "--disable-uvicorn-access-log", "--max-num-seqs", "32", "--extra", `{"a": "/models/a b"}`}
	if got := words[len(words)-len(end):]; !slices.Equal(got, end) {
		t.Errorf("the command ends with %q, want %q", got, end)
	}
	variables := r.variables(m, 1, "")
	ours, theirs := slices.Index(variables, "CUDA_VISIBLE_DEVICES=GPU-ab"), slices.Index(variables, "CUDA_VISIBLE_DEVICES=GPU-1")
	if ours < 0 || theirs < ours || variables[len(variables)-1] != "PORT=9001" || slices.ContainsFunc(variables, func(v string) bool { return strings.HasPrefix(v, keyVariable) }) {
		t.Errorf("variables %q", variables)
	}
}

func TestChecks(t *testing.T) {
	for replicas, want := range map[int]string{4: "CUDA_VISIBLE_DEVICES leaves 3 GPUs for 4 replicas", 3: "launch command: it is empty"} {
		_, err := Start(t.Context(), Recipe{Replicas: replicas, GPUs: []string{"0", "1", "2"}}, Model{}, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d replicas: got %v, want %q", replicas, err, want)
		}
	}
}
