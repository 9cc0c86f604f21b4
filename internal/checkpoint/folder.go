package checkpoint

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"speceval/internal/atomicfile"
	"speceval/internal/inputfile"
)

//go:embed generation_config.json
var generation []byte

// configName is the file of a model folder that says what the model is.
const configName = "config.json"

// Write makes dir a model folder of the shape, without weights. What is there of
// it already is replaced by the same, each file whole or not at all, the
// config.json last.
func Write(dir string, s Shape) error {
	words, err := padded(s.Vocabulary)
	if err != nil {
		return err
	}
	template := chatTemplate
	if s.hybrid() {
		template = thinkingTemplate
	}
	files := []struct {
		name    string
		content any
	}{
		{"generation_config.json", json.RawMessage(generation)},
		{"tokenizer.json", words},
		{"tokenizer_config.json", object{
			"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": s.Context,
			"bos_token": nil, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": nil,
			"clean_up_tokenization_spaces": false, "chat_template": strings.TrimSpace(template),
		}},
		{configName, s.config()},
	}
	for _, f := range files {
		err := atomicfile.Write(filepath.Join(dir, f.name), func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetEscapeHTML(false)
			e.SetIndent("", " ")
			return e.Encode(f.content)
		})
		if err != nil {
			return fmt.Errorf("write the model folder of %s: %w", s.Model, err)
		}
	}
	return nil
}

// IsFolder reports whether a path is a model folder.
func IsFolder(path string) bool {
	info, err := os.Stat(filepath.Join(path, configName))
	return err == nil && info.Mode().IsRegular()
}

// Flags are the words by which a vLLM server serves a model folder without its
// weights: of an architecture that sees as well, the part for text alone.
func Flags(dir string) ([]string, error) {
	path := filepath.Join(dir, configName)
	text, err := inputfile.Read(path, inputfile.Settings)
	if err != nil {
		return nil, err
	}
	var config struct {
		Architectures []string `json:"architectures"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	flags := []string{"--load-format", "dummy"}
	for _, a := range config.Architectures {
		if strings.HasSuffix(a, "ForConditionalGeneration") {
			return append(flags, "--language-model-only"), nil
		}
	}
	return flags, nil
}
