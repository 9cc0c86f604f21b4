// Package checkpoint holds the shapes of the paper's checkpoints, as model folders
// without weights: what a vLLM server needs to serve a model of the same size
// whose answers are noise (--load-format dummy). A step of such a server takes as
// long as one of the checkpoint's.
package checkpoint

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/atomicfile"
	"speceval/internal/files"
	"speceval/internal/fleet"
	"speceval/internal/flops"
)

// Shape is the size of a model in one of two architectures. Without linear heads
// it is Qwen2ForCausalLM, in which every layer has full attention. With them it
// is the text part of Qwen3_5ForConditionalGeneration, in which three layers with
// linear attention, of heads of linearHead, come before each one with full
// attention.
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
	interval    = 4   // every so many layers, the last has full attention
)

// shapes are the paper's checkpoints. Those of Qwen2.5 are public. Those of
// Qwen3.5 are inferred: of all sizes with heads of 256 and multiples of 64 inside,
// they alone give the exact coefficients of the FLOP proxy with more than one head
// of keys and values. That the 4B model's head is its embedding, and the longest
// context, no coefficient tells; both cost memory alone.
var shapes = []Shape{
	{
		Model: "qwen2_5_3b", Hidden: 2048, Inner: 11008, Layers: 36, Heads: 16, KeyValueHeads: 2, HeadWidth: 128,
		Vocabulary: 151936, Tied: true, Context: 32768,
	},
	{
		Model: "qwen2_5_7b", Hidden: 3584, Inner: 18944, Layers: 28, Heads: 28, KeyValueHeads: 4, HeadWidth: 128,
		Vocabulary: 152064, Context: 32768,
	},
	{
		Model: "qwen2_5_32b", Hidden: 5120, Inner: 27648, Layers: 64, Heads: 40, KeyValueHeads: 8, HeadWidth: 128,
		Vocabulary: 152064, Context: 32768,
	},
	{
		Model: "qwen3_5_4b", Hidden: 2560, Inner: 9216, Layers: 32, Heads: 16, KeyValueHeads: 4, HeadWidth: 256,
		LinearKeyHeads: 16, LinearValueHeads: 32, Vocabulary: 248320, Tied: true, Context: 262144,
	},
	{
		Model: "qwen3_5_9b", Hidden: 4096, Inner: 12288, Layers: 32, Heads: 16, KeyValueHeads: 4, HeadWidth: 256,
		LinearKeyHeads: 16, LinearValueHeads: 32, Vocabulary: 248320, Context: 262144,
	},
	{
		Model: "qwen3_5_27b", Hidden: 5120, Inner: 17408, Layers: 64, Heads: 24, KeyValueHeads: 4, HeadWidth: 256,
		LinearKeyHeads: 16, LinearValueHeads: 48, Vocabulary: 248320, Context: 262144,
	},
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

// fullLayers is the number of layers with full attention.
func (s Shape) fullLayers() int {
	if s.hybrid() {
		return s.Layers / interval
	}
	return s.Layers
}

// object is a JSON object.
type object = map[string]any

// Ids of the tokenizer.
const (
	endOfText = int(fleet.EndOfText)
	turnEnd   = int(fleet.TurnEnd)
)

// config is the config.json of the shape.
func (s Shape) config() object {
	if s.hybrid() {
		return s.hybridConfig()
	}
	c := s.common()
	c["architectures"], c["model_type"] = []string{"Qwen2ForCausalLM"}, "qwen2"
	c["rope_theta"], c["use_sliding_window"] = 1e6, false
	return c
}

// common are the keys that both architectures have.
func (s Shape) common() object {
	return object{
		"dtype": "bfloat16", "vocab_size": s.Vocabulary, "hidden_size": s.Hidden, "intermediate_size": s.Inner,
		"num_hidden_layers": s.Layers, "num_attention_heads": s.Heads, "num_key_value_heads": s.KeyValueHeads,
		"head_dim": s.HeadWidth, "hidden_act": "silu", "max_position_embeddings": s.Context,
		"initializer_range": 0.02, "rms_norm_eps": 1e-6, "attention_dropout": 0.0, "use_cache": true,
		"tie_word_embeddings": s.Tied, "bos_token_id": endOfText, "eos_token_id": turnEnd,
	}
}

// partialRotary is the share of a head of full attention that is rotated.
const partialRotary = 0.25

// hybridConfig is that of Qwen3.5. Without mamba_ssm_dtype types do not match on a
// CPU.
func (s Shape) hybridConfig() object {
	text := s.common()
	text["model_type"], text["attention_bias"], text["attn_output_gate"] = "qwen3_5_text", false, true
	text["layer_types"], text["full_attention_interval"] = s.layerTypes(), interval
	text["linear_conv_kernel_dim"], text["mamba_ssm_dtype"] = convolution, "float32"
	text["linear_key_head_dim"], text["linear_num_key_heads"] = linearHead, s.LinearKeyHeads
	text["linear_value_head_dim"], text["linear_num_value_heads"] = linearHead, s.LinearValueHeads
	pairs := int(float64(s.HeadWidth) * partialRotary / 2)
	text["rope_parameters"] = object{
		"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": partialRotary,
		"mrope_interleaved": true, "mrope_section": []int{(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3},
	}
	return object{
		"architectures": []string{"Qwen3_5ForConditionalGeneration"}, "model_type": "qwen3_5", "dtype": "bfloat16",
		"tie_word_embeddings": s.Tied, "image_token_id": endOfText, "video_token_id": endOfText,
		"vision_start_token_id": endOfText, "vision_end_token_id": endOfText,
		"text_config": text, "vision_config": s.vision(),
	}
}

func (s Shape) layerTypes() []string {
	types := make([]string, s.Layers)
	for i := range types {
		types[i] = "linear_attention"
		if i%interval == interval-1 {
			types[i] = "full_attention"
		}
	}
	return types
}

// vision is never used, since only text is served, but it must be there.
func (s Shape) vision() object {
	return object{
		"model_type": "qwen3_5", "depth": 1, "hidden_size": 64, "intermediate_size": 64, "num_heads": 2,
		"in_channels": 3, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2,
		"out_hidden_size": s.Hidden, "num_position_embeddings": 64, "deepstack_visual_indexes": []int{},
		"hidden_act": "gelu_pytorch_tanh", "initializer_range": 0.02,
	}
}

// Architecture is what the FLOP proxy counts of the shape (paper, Appendix B.5):
// stored parameters without embedding, output head, vision and multi-token
// prediction, those of the output head, and the layers and width of full
// attention.
func (s Shape) Architecture() flops.Architecture {
	core := s.Layers*(s.feedForward()+2*s.Hidden) + s.Hidden // with a norm before each half of a layer, and one at the end
	core += s.fullLayers()*s.fullAttention() + (s.Layers-s.fullLayers())*s.linearAttention()
	return flops.Architecture{
		Model: s.Model, ThetaCore: int64(core), ThetaHead: int64(s.Vocabulary * s.Hidden),
		FullAttentionLayers: int64(s.fullLayers()), AttentionWidth: int64(s.Heads * s.HeadWidth),
	}
}

// feedForward counts gate, up and down projection.
func (s Shape) feedForward() int { return 3 * s.Hidden * s.Inner }

// fullAttention counts the projections of queries, keys, values and output. Those
// of Qwen2.5 but for the output have biases; in Qwen3.5 queries have gates as
// well, and queries and keys have norms.
func (s Shape) fullAttention() int {
	queries, keys := s.Heads*s.HeadWidth, s.KeyValueHeads*s.HeadWidth
	if s.hybrid() {
		return s.Hidden*(3*queries+2*keys) + 2*s.HeadWidth
	}
	return s.Hidden*(2*queries+2*keys) + queries + 2*keys
}

// linearAttention counts a gated delta net: the projections of queries, keys,
// values and gates, two numbers a head that each token gives (decay and step) with
// two parameters, the convolution, the norm and the output projection.
func (s Shape) linearAttention() int {
	if !s.hybrid() {
		return 0
	}
	keys, values := s.LinearKeyHeads*linearHead, s.LinearValueHeads*linearHead
	mixed := 2*keys + values
	return s.Hidden*(mixed+2*values+2*s.LinearValueHeads) + 2*s.LinearValueHeads + mixed*convolution + linearHead
}

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
	text, err := files.ReadInput(path, files.Settings)
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

// Thinking is the argument about thinking that the chat template receives.
type Thinking int

// Values of Thinking: None for a model that cannot.
const (
	None Thinking = iota
	On
	Off
)

// around is what the template writes around a user's turn, a space standing for a
// special token.
var around = map[Thinking]string{
	None: " user\n \n assistant\n",
	On:   " user\n \n assistant\n \n",
	Off:  " user\n \n assistant\n \n\n \n\n",
}

// Filler is a user's turn that makes a prompt of so many tokens by a folder's
// tokenizer and template: another one for every number. A prompt cannot have
// fewer tokens than the template and a number have.
func Filler(tokens, number int, thinking Thinking) string {
	text := fmt.Sprintf("Task %d.", number)
	const more = " Nobody answers this."
	missing := max(0, tokens-len(around[thinking])-len(text))
	return text + strings.Repeat(more, missing/len(more)+1)[:missing]
}

// tokenizer is a byte-level tokenizer: a token for every byte, and the special
// ones of Qwen's chat format; no merges.
//
//go:embed tokenizer.json
var tokenizer []byte

// The templates of chats. A thinking model's prompt ends inside the thinking.
var (
	//go:embed chat.jinja
	chatTemplate string
	//go:embed thinking.jinja
	thinkingTemplate string
)

// padded is the tokenizer with a made word for every other token of a vocabulary.
// Noise is mostly those: were they without text, a server would send fewer pieces
// of an answer than it does for a real model. No prompt is made of them.
func padded(vocabulary int) (object, error) {
	var t object
	if err := json.Unmarshal(tokenizer, &t); err != nil {
		return nil, err
	}
	model, _ := t["model"].(object)
	vocab, there := model["vocab"].(object)
	if !there {
		return nil, fmt.Errorf("tokenizer.json has no model.vocab")
	}
	for id := len(vocab); id < vocabulary; id++ {
		vocab[word(id)] = id
	}
	return t, nil
}

// blank is how byte-level tokenizers spell a space.
const blank = "\u0120"

// word is the text of a made token: a space and four letters, which are different
// for all ids below 26⁴.
func word(id int) string {
	letters := []byte("aaaa")
	for i := range letters {
		letters[i] += byte(id % 26)
		id /= 26
	}
	return blank + string(letters)
}
