"""Writes model folders for tests of vLLM without weights.

    python models.py FOLDER

makes FOLDER/dense and FOLDER/hybrid: the architectures of the paper's
checkpoints (Qwen2.5 and Qwen3.5) at a size that two cores can serve. They have
no weights: serve them with --load-format dummy. What they answer is noise, but
all else of the server is real. Only the standard library is used.
"""

import json
import pathlib
import sys

CONTEXT = 32768

# The tokenizer, a token for every byte and the special ones, and the templates.
SHARED = pathlib.Path(__file__).parent.parent / "internal" / "fleet" / "checkpoint"
TOKENIZER = json.loads((SHARED / "tokenizer.json").read_text())
TEMPLATES = {"dense": "chat.jinja", "hybrid": "thinking.jinja"}

END, STOP = 256, 258  # <|endoftext|>, <|im_end|>
SIZE = len(TOKENIZER["model"]["vocab"])

DENSE = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "dtype": "bfloat16",
    "vocab_size": SIZE, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 2, "hidden_act": "silu",
    "max_position_embeddings": CONTEXT, "initializer_range": 0.02, "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0, "use_cache": True, "use_sliding_window": False, "tie_word_embeddings": True,
    "attention_dropout": 0.0, "bos_token_id": END, "eos_token_id": STOP,
}

# On a CPU, linear heads of 64 end in an illegal instruction, and without
# mamba_ssm_dtype types do not match.
HYBRID = {
    "architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "dtype": "bfloat16",
    "tie_word_embeddings": True, "image_token_id": END, "video_token_id": END,
    "vision_start_token_id": END, "vision_end_token_id": END,
    "text_config": {
        "model_type": "qwen3_5_text", "dtype": "bfloat16", "vocab_size": SIZE, "hidden_size": 256,
        "intermediate_size": 256, "num_hidden_layers": 4, "hidden_act": "silu",
        "layer_types": ["linear_attention"] * 3 + ["full_attention"], "full_attention_interval": 4,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 128, "attn_output_gate": True,
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
        "linear_num_key_heads": 2, "linear_num_value_heads": 4, "mamba_ssm_dtype": "float32",
        "max_position_embeddings": CONTEXT, "initializer_range": 0.02, "rms_norm_eps": 1e-6,
        "rope_parameters": {
            "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25,
            "mrope_interleaved": True, "mrope_section": [6, 5, 5],
        },
        "attention_bias": False, "attention_dropout": 0.0, "tie_word_embeddings": True,
        "use_cache": True, "bos_token_id": END, "eos_token_id": STOP,
    },
    # Never used, since only text is served, but it must be there.
    "vision_config": {
        "model_type": "qwen3_5", "depth": 1, "hidden_size": 64, "intermediate_size": 64, "num_heads": 2,
        "in_channels": 3, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2,
        "out_hidden_size": 256, "num_position_embeddings": 64, "deepstack_visual_indexes": [],
        "hidden_act": "gelu_pytorch_tanh", "initializer_range": 0.02,
    },
}

def write(folder, name, config):
    """Writes the model folder of one architecture."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "config.json": config,
        # Its sampling values are there to be ignored: the experiment's servers run
        # with --generation-config vllm, and only the ids may count.
        "generation_config.json": json.loads((SHARED / "generation_config.json").read_text()),
        "tokenizer.json": TOKENIZER,
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": CONTEXT,
            "bos_token": None, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": None,
            "clean_up_tokenization_spaces": False, "chat_template": (SHARED / TEMPLATES[name]).read_text().strip(),
        },
    }
    for file, content in files.items():
        (folder / file).write_text(json.dumps(content, indent=1, ensure_ascii=True) + "\n")


def main():
    root = pathlib.Path(sys.argv[1])
    for name, config in {"dense": DENSE, "hybrid": HYBRID}.items():
        write(root / name, name, config)
        print(root / name)


if __name__ == "__main__":
    main()
