package checkpoint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/checkpoint"
	"speceval/internal/fleet"
	"speceval/internal/flops"
)

// TestCoefficients counts the shapes by the paper's definition.
func TestCoefficients(t *testing.T) {
	want, err := flops.Parse(data.Architectures(), data.ArchitecturesName)
	if err != nil {
		t.Fatal(err)
	}
	if known := checkpoint.Known(); len(known) != len(want) {
		t.Errorf("shapes of %v, and %d architectures", known, len(want))
	}
	for _, a := range want {
		s, known := checkpoint.Find(a.Model)
		if got := s.Architecture(); !known || got != a {
			t.Errorf("%s: the shape counts %+v, the paper %+v", a.Model, got, a)
		}
	}
	if s, known := checkpoint.Find("gpt"); known {
		t.Errorf("a model that nobody knows has the shape %+v", s)
	}
}

// read reads a file of a model folder.
func read(t *testing.T, dir, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func write(t *testing.T, model string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "models", model)
	s, _ := checkpoint.Find(model)
	for range 2 { // a second time it is the same
		if err := checkpoint.Write(dir, s); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDenseFolder(t *testing.T) {
	dir := write(t, "qwen2_5_3b")
	config := read(t, dir, "config.json")
	for key, want := range map[string]any{
		"model_type": "qwen2", "hidden_size": 2048.0, "num_hidden_layers": 36.0, "num_key_value_heads": 2.0, "vocab_size": 151936.0,
		"tie_word_embeddings": true, "eos_token_id": float64(fleet.TurnEnd), "max_position_embeddings": 32768.0,
	} {
		if config[key] != want {
			t.Errorf("%s is %v, want %v", key, config[key], want)
		}
	}
	if flags, err := checkpoint.Flags(dir); err != nil || strings.Join(flags, " ") != "--load-format dummy" {
		t.Errorf("flags %q, %v", flags, err)
	}
	if template := read(t, dir, "tokenizer_config.json")["chat_template"].(string); strings.Contains(template, "think") {
		t.Errorf("the template thinks: %s", template)
	}
	if !checkpoint.IsFolder(dir) || checkpoint.IsFolder(filepath.Dir(dir)) {
		t.Error("a model folder is not told from another one")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("files %v, %v: want 4 and no leftover", entries, err)
	}
}

func TestHybridFolder(t *testing.T) {
	dir := write(t, "qwen3_5_27b")
	text := read(t, dir, "config.json")["text_config"].(map[string]any)
	types := text["layer_types"].([]any)
	if len(types) != 64 || types[0] != "linear_attention" || types[3] != "full_attention" || types[63] != "full_attention" {
		t.Errorf("layers %v", types)
	}
	rope := text["rope_parameters"].(map[string]any)
	if sections := rope["mrope_section"].([]any); !slices.Equal(sections, []any{11.0, 11.0, 10.0}) { // of 32 rotated pairs
		t.Errorf("sections %v", sections)
	}
	if flags, err := checkpoint.Flags(dir); err != nil || strings.Join(flags, " ") != "--load-format dummy --language-model-only" {
		t.Errorf("flags %q, %v", flags, err)
	}
	if template := read(t, dir, "tokenizer_config.json")["chat_template"].(string); !strings.Contains(template, "enable_thinking") {
		t.Errorf("the template cannot think: %s", template)
	}
}

// TestEveryTokenHasAText: a server has no text for an id that a tokenizer lacks.
func TestEveryTokenHasAText(t *testing.T) {
	vocab := read(t, write(t, "qwen3_5_4b"), "tokenizer.json")["model"].(map[string]any)["vocab"].(map[string]any)
	ids := make([]int, 248320)
	for text, id := range vocab {
		ids[int(id.(float64))]++
		if text == "" {
			t.Errorf("id %v has no text", id)
		}
	}
	if i := slices.IndexFunc(ids, func(n int) bool { return n != 1 }); i >= 0 {
		t.Errorf("id %d stands there %d times", i, ids[i])
	}
	if vocab["<think>"] != float64(fleet.ThinkStart) || vocab["a"] != float64('a') {
		t.Errorf("ids %v and %v", vocab["<think>"], vocab["a"])
	}
}

func TestFlagsOfABadFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := checkpoint.Flags(dir); err == nil {
		t.Error("flags of an empty folder")
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Flags(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v, want one that names the file", err)
	}
}

// TestFiller counts prompts as the imitation of vLLM renders them.
func TestFiller(t *testing.T) {
	const open, turn, assistant = "<|im_start|>user\n", "<|im_end|>\n", "<|im_start|>assistant\n"
	after := map[checkpoint.Thinking]string{checkpoint.None: "", checkpoint.On: "<think>\n", checkpoint.Off: "<think>\n\n</think>\n\n"}
	seen := map[string]bool{}
	for thinking, rest := range after {
		for number, tokens := range []int{100, 101, 600, 35} {
			text := checkpoint.Filler(tokens, number, thinking)
			if got := len(fleet.Tokenize(open + text + turn + assistant + rest)); got != tokens {
				t.Errorf("%d tokens asked for, %d there: %q", tokens, got, text)
			}
		}
		for number := range 20 {
			seen[checkpoint.Filler(100, number, thinking)] = true
		}
	}
	if len(seen) != 60 {
		t.Errorf("%d different prompts, want 60", len(seen))
	}
	if text := checkpoint.Filler(3, 7, checkpoint.None); text != "Task 7." {
		t.Errorf("the shortest prompt is %q", text)
	}
}
