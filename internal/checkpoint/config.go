package checkpoint

import "speceval/internal/fleet"

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
