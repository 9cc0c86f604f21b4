"""Trains the small model and writes its folder.

    python train.py [--out FOLDER] [--start FOLDER] [--seed N] [--steps N] [--rate R]
                    [--early STEP FOLDER]...

A training that starts from the weights of another one goes on with other texts,
those of its own seed. --early writes the model as it is after some steps, too, and
changes nothing of the training.

The architecture is Qwen2 (a decoder with rotary positions, RMS norms, biases on
queries, keys and values, and a gated feed-forward part) at a size that trains
on two cores in minutes, written out here in plain PyTorch. Texts are those of
problems.py; the loss is that of the answer's tokens alone, the end of the turn
included. The tokenizer, the chat template and the shape of config.json are
those of ../../vllm-cpu/models.py.
"""

import argparse
import hashlib
import math
import os
import pathlib
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

# Two threads of Python work a half of every batch each: with operations as
# small as these that beats two threads in every operation.
os.environ["OMP_NUM_THREADS"] = "1"

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional

import problems

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "vllm-cpu"))
import models

HIDDEN, FEED, LAYERS, HEADS, HEAD = 96, 256, 3, 3, 32
CONTEXT = 2048
HALVES, TOKENS = 2, 3072  # of a step, and of a half
WARM_UP = 100  # steps

CONFIG = models.DENSE | {
    "hidden_size": HIDDEN, "intermediate_size": FEED, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "max_position_embeddings": CONTEXT,
}


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x):
        return functional.rms_norm(x, (HIDDEN,), self.weight, CONFIG["rms_norm_eps"])


def turn(x, cos, sin):
    """Rotary positions, halves turned against each other."""
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(HIDDEN, HEADS * HEAD) for _ in range(3))
        self.o_proj = nn.Linear(HEADS * HEAD, HIDDEN, bias=False)

    def forward(self, x, cos, sin):
        split = lambda y: y.unflatten(-1, (HEADS, HEAD)).transpose(1, 2)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        y = functional.scaled_dot_product_attention(turn(q, cos, sin), turn(k, cos, sin), v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).flatten(-2))


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(HIDDEN, FEED, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(FEED, HIDDEN, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn, self.mlp = Attention(), Feed()
        self.input_layernorm, self.post_attention_layernorm = Norm(), Norm()

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    """Names of parameters are those of Qwen2 without their prefix "model."."""

    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(models.SIZE, HIDDEN)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = Norm()
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                into = "o_proj" in name or "down_proj" in name
                nn.init.normal_(weight, std=0.05 / math.sqrt(2 * LAYERS) if into else 0.05)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def forward(self, tokens):
        speeds = CONFIG["rope_theta"] ** (-torch.arange(0, HEAD, 2) / HEAD)
        angles = torch.outer(torch.arange(tokens.shape[1]), speeds).repeat(1, 2)
        cos, sin = angles.cos(), angles.sin()
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.norm(x)

    def loss(self, tokens, answered):
        """The losses of all tokens that are answers, added up."""
        x = self(tokens[:, :-1])[answered[:, 1:]]
        return functional.cross_entropy(x @ self.embed_tokens.weight.T, tokens[:, 1:][answered[:, 1:]], reduction="sum")


START = [257, *b"user\n"]
TURN = [258, *b"\n", 257, *b"assistant\n"]


def encode(prompt, response):
    """Tokens of a conversation, as the chat template makes them, and where the answer begins."""
    asked = [*START, *prompt.encode(), *TURN]
    return asked + [*response.encode(), models.STOP], len(asked)


def batches(source, rng):
    """Endless batches of about TOKENS tokens, each of texts of similar length."""
    while True:
        pool = sorted((encode(*next(source)) for _ in range(4096)), key=lambda text: len(text[0]))
        cut, group = [], []
        for text in pool:
            if group and (len(group) + 1) * len(text[0]) > TOKENS:
                cut.append(group)
                group = []
            group.append(text)
        cut.append(group)
        rng.shuffle(cut)
        yield from map(padded, cut)


def padded(group):
    width = max(len(tokens) for tokens, _ in group)
    tokens = torch.full((len(group), width), models.END)
    answered = torch.zeros((len(group), width), dtype=torch.bool)
    for i, (text, asked) in enumerate(group):
        tokens[i, :len(text)] = torch.tensor(text)
        answered[i, asked:len(text)] = True
    return tokens, answered


def rate(step, options):
    """The learning rate: a rise, then half a cosine down to a hundredth."""
    if step < WARM_UP:
        return options.rate * (step + 1) / WARM_UP
    return options.rate * (0.01 + 0.99 * (1 + math.cos(math.pi * step / options.steps)) / 2)


def optimizer_of(model):
    matrices = [w for w in model.parameters() if w.dim() == 2]
    vectors = [w for w in model.parameters() if w.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98))


def train(options, keep):
    """Trains a model; keep is called with it and the number of steps after every step."""
    torch.manual_seed(options.seed)
    model, steps = Model(), options.steps
    if options.start:
        read(model, options.start)
    weights = list(model.parameters())
    print(f"{sum(w.numel() for w in weights)} parameters", flush=True)
    optimizer, threads = optimizer_of(model), ThreadPoolExecutor(HALVES)
    source = batches(problems.texts(options.seed), random.Random(options.seed))

    def gradients(half):
        loss = model.loss(*half)
        return loss.item(), torch.autograd.grad(loss, weights)

    began, seen, mean = time.time(), 0, None
    for step in range(steps):
        halves = [next(source) for _ in range(HALVES)]
        count = sum(int(answered.sum()) for _, answered in halves)
        losses, parts = zip(*threads.map(gradients, halves))
        for weight, *part in zip(weights, *parts):
            weight.grad = sum(part) / count
        nn.utils.clip_grad_norm_(weights, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate(step, options)
        optimizer.step()
        seen += sum(len(tokens) for tokens, _ in halves)
        loss = sum(losses) / count
        mean = loss if mean is None else 0.98 * mean + 0.02 * loss
        if (step + 1) % 100 == 0:
            print(f"step {step + 1} of {steps}: loss {mean:.4f}, {seen} texts, {time.time() - began:.0f} s", flush=True)
        keep(model, step + 1)
    return model


def read(model, folder):
    """Reads the weights of a model folder."""
    weights = load_file(folder / "model.safetensors")
    model.load_state_dict({name.removeprefix("model."): w.float() for name, w in weights.items()})


def write(model, folder):
    """Writes the model folder, with the sums of its files."""
    models.write(folder, "dense", CONFIG)
    weights = {f"model.{name}": w.detach().to(torch.bfloat16).contiguous() for name, w in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    names = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(sums))


def main():
    parser = argparse.ArgumentParser(description="Trains the small model.")
    parser.add_argument("--out", type=pathlib.Path, default=HERE, help="folder of the model")
    parser.add_argument("--start", type=pathlib.Path, help="folder of a model to go on from")
    parser.add_argument("--seed", type=int, default=8, help="seed of the texts, and of the first weights")
    parser.add_argument("--steps", type=int, default=2000, help="steps of training")
    parser.add_argument("--rate", type=float, default=4e-3, help="highest learning rate")
    parser.add_argument("--early", nargs=2, action="append", default=[], metavar=("STEP", "FOLDER"),
                        help="write the model after so many steps into another folder; may be repeated")
    options = parser.parse_args()
    early = {int(step): pathlib.Path(folder) for step, folder in options.early}
    torch.set_num_threads(1)

    def keep(model, step):
        if step % 500 == 0 or step == options.steps:
            write(model, options.out)
        if step in early:
            write(model, early[step])

    train(options, keep)


if __name__ == "__main__":
    main()
