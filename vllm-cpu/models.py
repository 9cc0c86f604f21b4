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

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
CONTEXT = 32768

# Newlines are written as expressions, since the tags take the space around them.
NEWLINE = '{{ "\\n" }}'
TURNS = (
    "{%- for message in messages -%}"
    "<|im_start|>{{ message.role }}" + NEWLINE + "{{ message.content }}<|im_end|>" + NEWLINE +
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|im_start|>assistant" + NEWLINE
)
# A thinking model's prompt ends inside the thinking, or, when that is switched
# off, after an empty one.
THINKING = (
    "{%- if enable_thinking is defined and not enable_thinking -%}"
    "<think>" + 2 * NEWLINE + "</think>" + 2 * NEWLINE +
    "{%- else -%}<think>" + NEWLINE + "{%- endif -%}"
)
TEMPLATES = {
    "dense": TURNS + "{%- endif -%}",
    "hybrid": TURNS + THINKING + "{%- endif -%}",
}


def byte_letters():
    """The 256 bytes as the printable characters by which byte-level BPE names them."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in plain]
    letters = {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(rest)}
    return [letters[b] for b in range(256)]


def tokenizer():
    """A token for every byte, and the special ones; no merges."""
    vocabulary = byte_letters() + SPECIAL
    added = [
        {
            "id": 256 + i, "content": token, "special": "think" not in token,
            "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
        }
        for i, token in enumerate(SPECIAL)
    ]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "vocab": {token: i for i, token in enumerate(vocabulary)}, "merges": [],
        },
    }


END, STOP = 256, 258  # <|endoftext|>, <|im_end|>
SIZE = 256 + len(SPECIAL)

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

# The sampling values here are there to be ignored: the experiment's servers run
# with --generation-config vllm, and only the ids may count.
GENERATION = {
    "bos_token_id": END, "pad_token_id": END, "eos_token_id": [STOP, END],
    "do_sample": True, "temperature": 0.1, "top_p": 0.5, "top_k": 1,
}


def write(folder, name, config):
    """Writes the model folder of one architecture."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "config.json": config,
        "generation_config.json": GENERATION,
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": CONTEXT,
            "bos_token": None, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": None,
            "clean_up_tokenization_spaces": False, "chat_template": TEMPLATES[name],
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
