// Package checkpoint holds the shapes of the paper's checkpoints, as model folders
// without weights: what a vLLM server needs to serve a model of the same size
// whose answers are noise (--load-format dummy). A step of such a server takes as
// long as one of the checkpoint's.
package checkpoint

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/fleet"
	"speceval/internal/servers/flops"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/files"
)

// Shape is the size of a model: without linear heads of Qwen2ForCausalLM, in which every
// layer has full attention, with them of the text part of Qwen3_5ForConditionalGeneration,
// in which three layers with linear attention come before each one with full attention.
type Shape struct {
	Model  string // id
	Hidden int    // width of a token between layers
	Inner  int    // width inside the feed-forward part
	Layers int    // in the hybrid architecture a multiple of interval

	Heads, KeyValueHeads, HeadWidth  int // of full attention
	LinearKeyHeads, LinearValueHeads int // of linear attention

	Vocabulary int  // tokens that the model knows
	Tied       bool // the output head is the embedding
	Context    int  // longest prompt and answer together, in tokens
}

// Sizes that are the same in all models of the hybrid architecture.
const (
	linearHead  = 128 // width of a head of linear attention
	convolution = 4   // tokens that the convolution before linear attention sees
	interval    = 4   // layers; the last of each interval has full attention
)

// shapes are the paper's checkpoints, by the columns of Shape. The shapes of Qwen2.5 are
// public. The shapes of Qwen3.5 are inferred: of all sizes with heads of 256, multiples of
// 64 inside and more than one head of keys and values, they alone give the exact
// coefficients of the FLOP proxy. Tied and Context, which no coefficient shows, cost memory
// alone.
var shapes = []Shape{
	{"qwen2_5_3b", 2048, 11008, 36, 16, 2, 128, 0, 0, 151936, true, 32768},
	{"qwen2_5_7b", 3584, 18944, 28, 28, 4, 128, 0, 0, 152064, false, 32768},
	{"qwen2_5_32b", 5120, 27648, 64, 40, 8, 128, 0, 0, 152064, false, 32768},
	{"qwen3_5_4b", 2560, 9216, 32, 16, 4, 256, 16, 32, 248320, true, 262144},
	{"qwen3_5_9b", 4096, 12288, 32, 16, 4, 256, 16, 32, 248320, false, 262144},
	{"qwen3_5_27b", 5120, 17408, 64, 24, 4, 256, 16, 48, 248320, false, 262144},
}

// Find is the shape of a model by its id.
func Find(model string) (Shape, bool) {
	i := slices.IndexFunc(shapes, func(s Shape) bool { return s.Model == model })
	if i < 0 {
		return Shape{}, false
	}
	return shapes[i], true
}

// Known lists the models whose shapes are known.
func Known() []string {
	var ids []string
	for _, s := range shapes {
		ids = append(ids, s.Model)
	}
	return ids
}

func (s Shape) hybrid() bool { return s.LinearKeyHeads > 0 }

// Architecture returns the counts of the shape for the FLOP proxy (paper, Appendix B.5):
// stored parameters without embedding, output head, vision and multi-token prediction, the
// parameters of the output head, and the layers and width of full attention.
func (s Shape) Architecture() flops.Architecture {
	// Full attention has the projections of queries, keys, values and output. All but the
	// output have biases in Qwen2.5.
	queries, keys := s.Heads*s.HeadWidth, s.KeyValueHeads*s.HeadWidth
	full, attention := s.Layers, s.Layers*(s.Hidden*(2*queries+2*keys)+queries+2*keys)
	if s.hybrid() {
		// Queries have gates instead, and queries and keys have norms. The other layers
		// have gated delta nets: the projections of queries, keys, values and gates, two
		// numbers a head that each token gives (decay and step) with two parameters, the
		// convolution, the norm and the output projection.
		values := s.LinearValueHeads * linearHead
		mixed := 2*s.LinearKeyHeads*linearHead + values
		full = s.Layers / interval
		attention = full*(s.Hidden*(3*queries+2*keys)+2*s.HeadWidth) + (s.Layers-full)*
			(s.Hidden*(mixed+2*values+2*s.LinearValueHeads)+2*s.LinearValueHeads+mixed*convolution+linearHead)
	}
	forward := s.Layers*(3*s.Hidden*s.Inner+2*s.Hidden) + s.Hidden // gate, up and down, a norm before each half of a layer, and one at the end
	return flops.Architecture{
		Model: s.Model, ThetaCore: int64(attention + forward), ThetaHead: int64(s.Vocabulary * s.Hidden),
		FullAttentionLayers: int64(full), AttentionWidth: int64(queries),
	}
}

// object is a JSON object.
type object = map[string]any

// config is the config.json of the shape.
func (s Shape) config() object {
	const endOfText = int(fleet.EndOfText)
	text := object{
		"dtype": "bfloat16", "vocab_size": s.Vocabulary, "hidden_size": s.Hidden, "intermediate_size": s.Inner,
		"num_hidden_layers": s.Layers, "num_attention_heads": s.Heads, "num_key_value_heads": s.KeyValueHeads,
		"head_dim": s.HeadWidth, "hidden_act": "silu", "max_position_embeddings": s.Context,
		"initializer_range": 0.02, "rms_norm_eps": 1e-6, "attention_dropout": 0.0, "use_cache": true,
		"tie_word_embeddings": s.Tied, "bos_token_id": endOfText, "eos_token_id": int(fleet.TurnEnd),
	}
	if !s.hybrid() {
		maps.Copy(text, object{
			"architectures": []string{"Qwen2ForCausalLM"}, "model_type": "qwen2",
			"rope_theta": 1e6, "use_sliding_window": false,
		})
		return text
	}
	const rotary = 0.25 // share of a head of full attention that is rotated
	pairs := int(float64(s.HeadWidth) * rotary / 2)
	maps.Copy(text, object{ // without mamba_ssm_dtype types do not match on a CPU
		"model_type": "qwen3_5_text", "attention_bias": false, "attn_output_gate": true,
		"layer_types":             slices.Repeat([]string{"linear_attention", "linear_attention", "linear_attention", "full_attention"}, s.Layers/interval),
		"full_attention_interval": interval, "linear_conv_kernel_dim": convolution, "mamba_ssm_dtype": "float32",
		"linear_key_head_dim": linearHead, "linear_num_key_heads": s.LinearKeyHeads,
		"linear_value_head_dim": linearHead, "linear_num_value_heads": s.LinearValueHeads,
		"rope_parameters": object{
			"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": rotary,
			"mrope_interleaved": true, "mrope_section": []int{(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3},
		},
	})
	return object{
		"architectures": []string{"Qwen3_5ForConditionalGeneration"}, "model_type": "qwen3_5", "dtype": "bfloat16",
		"tie_word_embeddings": s.Tied, "image_token_id": endOfText, "video_token_id": endOfText,
		"vision_start_token_id": endOfText, "vision_end_token_id": endOfText, "text_config": text,
		"vision_config": object{ // never used, since only text is served, but it must be there
			"model_type": "qwen3_5", "depth": 1, "hidden_size": 64, "intermediate_size": 64, "num_heads": 2,
			"in_channels": 3, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2,
			"out_hidden_size": s.Hidden, "num_position_embeddings": 64, "deepstack_visual_indexes": []int{},
			"hidden_act": "gelu_pytorch_tanh", "initializer_range": 0.02,
		},
	}
}

var (
	//go:embed generation_config.json
	generation []byte
	// tokenizer is a byte-level tokenizer: a token for every byte, and the special
	// ones of Qwen's chat format; no merges.
	//
	//go:embed tokenizer.json
	tokenizer []byte
	//go:embed chat.jinja
	chatTemplate string
	// thinkingTemplate ends a prompt inside the thinking.
	//
	//go:embed thinking.jinja
	thinkingTemplate string
)

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
	text, err := files.ReadInput(filepath.Join(dir, configName), files.Settings)
	if err != nil {
		return nil, err
	}
	flags := []string{"--load-format", "dummy"}
	if bytes.Contains(text, []byte(`ForConditionalGeneration"`)) {
		flags = append(flags, "--language-model-only")
	}
	return flags, nil
}

// Thinking is the text that the chat template writes around a user's turn by its argument
// about thinking. A space stands for a special token.
type Thinking string

// Values of Thinking: None for a model that cannot.
const (
	None Thinking = " user\n \n assistant\n"
	On            = None + " \n"
	Off           = None + " \n\n \n\n"
)

// Filler returns a user's turn that makes a prompt of the given number of tokens by a
// folder's tokenizer and template, another turn for every number. A prompt cannot have fewer
// tokens than the template and a number have.
func Filler(tokens, number int, thinking Thinking) string {
	text := fmt.Sprintf("Task %d.", number)
	const more = " Nobody answers this."
	missing := max(0, tokens-len(thinking)-len(text))
	return text + strings.Repeat(more, missing/len(more)+1)[:missing]
}

// padded is the tokenizer with a made word for every other token of a vocabulary.
// Noise is mostly those: were they without text, a server would send fewer pieces
// of an answer than it does for a real model. No prompt is made of them.
func padded(vocabulary int) (object, error) {
	var t object
	if err := json.Unmarshal(tokenizer, &t); err != nil {
		return nil, err
	}
	vocab := t["model"].(object)["vocab"].(object) // the file has it
	for id := len(vocab); id < vocabulary; id++ {
		word := []byte("\u0120aaaa") // a space, as such tokenizers spell it, and letters, different below 26⁴
		for i, rest := len("\u0120"), id; i < len(word); i, rest = i+1, rest/26 {
			word[i] += byte(rest % 26)
		}
		vocab[string(word)] = id
	}
	return t, nil
}
