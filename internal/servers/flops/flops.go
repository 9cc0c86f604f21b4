// Package flops estimates the compute of a rollout from its length, by the
// sequence-length-aware proxy of the paper (Appendix B.5).
package flops

import (
	"fmt"
	"slices"

	"speceval/internal/store/csvfile"
)

// Architecture is the shape of a model for the proxy (paper, Table 7).
type Architecture struct {
	Model               string `csv:"model"`
	ThetaCore           int64  `csv:"theta_core"`            // text-core parameters without embeddings, head, vision and multi-token prediction
	ThetaHead           int64  `csv:"theta_head"`            // parameters of the output projection
	FullAttentionLayers int64  `csv:"full_attention_layers"` // a
	AttentionWidth      int64  `csv:"attention_width"`       // d_attn, query heads × head dimension
}

// Request is the estimated FLOPs of one rollout of the given token counts, a
// multiply-add counting as two:
// 2·θ_core·Q + 2·θ_head·C + 2·a·d_attn·Q(Q+1), where C is the completion and
// Q the prompt and the completion.
func (a Architecture) Request(promptTokens, completionTokens int) float64 {
	var t Tokens
	t.Add(promptTokens, completionTokens)
	return a.Total(t)
}

// Tokens are the sums over rollouts that the proxy is made of, whatever the
// architecture. They are exact.
type Tokens struct {
	Sequence   int64 // Σ Q, tokens of prompts and completions
	Completion int64 // Σ C
	Pairs      int64 // Σ Q(Q+1)
}

// Add counts one more rollout.
func (t *Tokens) Add(promptTokens, completionTokens int) {
	q := int64(promptTokens) + int64(completionTokens)
	t.Sequence += q
	t.Completion += int64(completionTokens)
	t.Pairs += q * (q + 1)
}

// Total is the estimated FLOPs of rollouts, the sum of Request over them.
func (a Architecture) Total(t Tokens) float64 {
	core := 2 * float64(a.ThetaCore) * float64(t.Sequence)
	head := 2 * float64(a.ThetaHead) * float64(t.Completion)
	attention := 2 * float64(a.FullAttentionLayers) * float64(a.AttentionWidth) * float64(t.Pairs)
	return float64(core) + float64(head) + float64(attention) // the conversions forbid fused multiply-adds
}

// Parse reads architectures from a CSV file with the columns model, theta_core, theta_head,
// full_attention_layers and attention_width, in file order; name is the file's name in
// errors.
func Parse(data []byte, name string) ([]Architecture, error) {
	architectures, numbers, faults := csvfile.Decode[Architecture](data)
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %w", name, faults[0])
	}
	if len(architectures) == 0 {
		return nil, fmt.Errorf("%s: there are no rows", name)
	}
	for i, a := range architectures {
		before := slices.IndexFunc(architectures, func(b Architecture) bool { return b.Model == a.Model })
		if a.Model == "" || before < i {
			return nil, fmt.Errorf("%s: row %d: model %q is empty or there twice", name, numbers[i], a.Model)
		}
		if min(a.ThetaCore, a.ThetaHead, a.FullAttentionLayers, a.AttentionWidth) < 1 {
			return nil, fmt.Errorf("%s: row %d: %+v: want positive integers", name, numbers[i], a)
		}
	}
	return architectures, nil
}
