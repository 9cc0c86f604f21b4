package checkpoint

import "speceval/internal/flops"

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
// of Qwen2.5 but for the output have biases; in Qwen3.5 queries have gates beside
// them, and queries and keys norms.
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
