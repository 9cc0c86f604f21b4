package checkpoint

import "slices"

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
