package checkpoint_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/fleet"
	"speceval/internal/fleet/checkpoint"
	"speceval/internal/servers/flops"
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

// TestFolders pins the bytes of all files.
func TestFolders(t *testing.T) {
	for model, want := range map[string]struct{ digest, flags string }{
		"qwen2_5_3b":  {"53789bed1de32f738285cda8f6eaaeb2bedff2814810b3d96eb320fd4dcf5218", "--load-format dummy"},
		"qwen3_5_27b": {"a51b4959515370f6b11ada76ac3bd377745f64dec4c1c084600ef712b98a2f45", "--load-format dummy --language-model-only"},
	} {
		dir := filepath.Join(t.TempDir(), "models", model)
		s, _ := checkpoint.Find(model)
		if err := checkpoint.Write(dir, s); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		digest := sha256.New()
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(digest, e.Name())
			digest.Write(text)
		}
		if got := fmt.Sprintf("%x", digest.Sum(nil)); got != want.digest {
			t.Errorf("%s: %d files of digest %s, want %s", model, len(entries), got, want.digest)
		}
		if flags, err := checkpoint.Flags(dir); err != nil || strings.Join(flags, " ") != want.flags {
			t.Errorf("%s: flags %q, %v", model, flags, err)
		}
		if !checkpoint.IsFolder(dir) || checkpoint.IsFolder(filepath.Dir(dir)) {
			t.Errorf("%s: a model folder is not told from another one", model)
		}
		if _, err := checkpoint.Flags(filepath.Dir(dir)); err == nil || !strings.Contains(err.Error(), filepath.Dir(dir)) {
			t.Errorf("flags of an empty folder: %v", err)
		}
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
