package fleet

import "time"

// Timing is how long one replica takes for a step of its batch: the published
// simulation's Base + Sequence·n + Context·Σcontext, and Prompt for every token
// of a prompt that the step admits. Whole nanoseconds make sums exact.
type Timing struct {
	Base     time.Duration // of every step
	Sequence time.Duration // for every running sequence
	Context  time.Duration // for every token of prompt and answer that is attended to
	Prompt   time.Duration // for every prompt token, once
	Graphs   bool          // the number of sequences counts as the next CUDA graph size
}

// Step is the duration of a step of n sequences with context tokens in all; no
// sequences take no time.
func (t Timing) Step(n, context int) time.Duration { return t.Steps(n, context, 1) }

// Steps is the duration of k steps with the same n sequences, the first of
// which has context tokens. Every step adds one token to every sequence.
func (t Timing) Steps(n, context, k int) time.Duration {
	if n <= 0 || k <= 0 {
		return 0
	}
	grown := k*context + n*(k*(k-1)/2)
	return time.Duration(k)*(t.Base+t.Sequence*time.Duration(t.counted(n))) + t.Context*time.Duration(grown)
}

// Prefill is what a step takes longer for admitting prompts of so many tokens.
func (t Timing) Prefill(tokens int) time.Duration { return t.Prompt * time.Duration(tokens) }

// counted is the number of sequences that a step costs as much as.
func (t Timing) counted(n int) int {
	if !t.Graphs {
		return n
	}
	return graphSize(n)
}

// graphSize is the smallest CUDA graph that holds n sequences: vLLM captures 1,
// 2, 4, multiples of 8 to 256, and of 16 to 512, and runs larger batches as
// they are.
func graphSize(n int) int {
	switch {
	case n <= 2:
		return n
	case n <= 4:
		return 4
	case n <= 256:
		return (n + 7) / 8 * 8
	case n <= 512:
		return (n + 15) / 16 * 16
	}
	return n
}

// Small is a toy model of two layers on two cores: 1.6 ms a step alone, 6.3 ms
// with 64 sequences, as measured of vLLM 0.23.0's CPU build.
var Small = Timing{Base: 1530 * time.Microsecond, Sequence: 75 * time.Microsecond, Prompt: 20 * time.Microsecond}

// presets are the models of the paper on one H20 each. Base, Sequence and
// Context were fitted to the published timings in a feasibility study (a, beta
// and c there). Prompt is no fit: two FLOP for every parameter at 60% of an
// H20's 148 TFLOP/s.
var presets = []struct {
	model  string
	timing Timing
}{
	{"qwen2_5_3b", preset(3500, 68, 17, 70)},
	{"qwen2_5_7b", preset(5000, 118, 30, 170)},
	{"qwen2_5_32b", preset(21300, 159, 122, 730)},
	{"qwen3_5_4b", preset(3800, 141, 35, 90)},
	{"qwen3_5_9b", preset(5000, 162, 39, 200)},
	{"qwen3_5_27b", preset(14400, 357, 79, 610)},
}

// preset is a timing in µs, µs per sequence, ns per context token and µs per
// prompt token.
func preset(base, sequence, context, prompt int) Timing {
	return Timing{
		Base:     time.Duration(base) * time.Microsecond,
		Sequence: time.Duration(sequence) * time.Microsecond,
		Context:  time.Duration(context),
		Prompt:   time.Duration(prompt) * time.Microsecond,
		Graphs:   true,
	}
}

// Preset is the timing of a model of the paper by its id, or Small and false.
func Preset(model string) (Timing, bool) {
	for _, p := range presets {
		if p.model == model {
			return p.timing, true
		}
	}
	return Small, false
}
