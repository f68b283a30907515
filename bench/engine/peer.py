"""The peer of the training rows: PyTorch and transformers, float32, on the
weights of a GGUF file. Reads one request a line, answers with seconds.

    peer.py MODEL.gguf THREADS

train MODE SEQUENCES LENGTH EVERY: one step (MODE full or lora) with the logits
of one position in EVERY. grpo ROLLOUTS PROMPT TURNS SAMPLED OBSERVED: play, then
train on what was sampled; answers "PLAY TRAIN".
"""
import os
import sys
import time

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM

torch.set_num_threads(int(sys.argv[2]))
folder, file = os.path.split(os.path.abspath(sys.argv[1]))


def load():
    return AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)


class LoRA(torch.nn.Module):
    """base(x) + 2·x·Aᵀ·Bᵀ of rank 16."""

    def __init__(self, base):
        super().__init__()
        self.base = base
        self.a = torch.nn.Parameter(torch.randn(16, base.in_features) / base.in_features**0.5)
        self.b = torch.nn.Parameter(torch.zeros(base.out_features, 16))

    def forward(self, x):
        return self.base(x) + 2 * F.linear(F.linear(x, self.a), self.b)


def adapted(model):
    model.requires_grad_(False)
    for layer in model.model.layers:
        for part in (layer.self_attn, layer.mlp):
            for name, child in list(part.named_children()):
                if isinstance(child, torch.nn.Linear):
                    setattr(part, name, LoRA(child))
    return model


models = {}


def trained(mode):
    if mode not in models:
        models.clear()
        model = adapted(load()) if mode == "lora" else load()
        params = [p for p in model.parameters() if p.requires_grad]
        models[mode] = model, torch.optim.AdamW(params, lr=1e-9, betas=(0.9, 0.95))
    return models[mode]


def add_gradient(model, ids, positions, weight):
    """Backward of -weight·(sum of log-probs of what follows positions)."""
    hidden = model.model(input_ids=ids).last_hidden_state[:, positions]
    logits = model.lm_head(hidden).flatten(0, 1)
    loss = F.cross_entropy(logits, ids[:, [p + 1 for p in positions]].flatten(), reduction="sum")
    (weight * loss).backward()


def update(model, optimiser):
    torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
    optimiser.step()
    optimiser.zero_grad(set_to_none=False)


def train(mode, sequences, length, every):
    model, optimiser = trained(mode)
    ids = torch.randint(300, 1300, (sequences, length))
    positions = list(range(every - 2, length - 1, every))
    start = time.perf_counter()
    add_gradient(model, ids, positions, 1 / (sequences * len(positions)))
    update(model, optimiser)
    return f"{time.perf_counter() - start}"


@torch.inference_mode()
def play(model, rollouts, prompt, turns, sampled, observed):
    """All rollouts in step, each token sampled once the cache holds what is before it."""
    ids = torch.randint(300, 1300, (rollouts, prompt))
    new, cache = ids, None
    for turn in range(turns):
        for _ in range(sampled):
            out = model(input_ids=new, past_key_values=cache, use_cache=True, logits_to_keep=1)
            cache = out.past_key_values
            new = torch.multinomial(out.logits[:, -1].softmax(-1), 1)
            ids = torch.cat([ids, new], 1)
        if turn < turns - 1:
            seen = torch.randint(300, 1300, (rollouts, observed))
            ids = torch.cat([ids, seen], 1)
            new = torch.cat([new, seen], 1)
    return ids


def grpo(rollouts, prompt, turns, sampled, observed):
    model, optimiser = trained("full")
    start = time.perf_counter()
    ids = play(model, rollouts, prompt, turns, sampled, observed).clone()
    played = time.perf_counter()
    positions = [prompt + t * (sampled + observed) + i - 1 for t in range(turns) for i in range(sampled)]
    for at in range(0, rollouts, 4):
        add_gradient(model, ids[at : at + 4], positions, 1 / (rollouts * len(positions)))
    update(model, optimiser)
    return f"{played - start} {time.perf_counter() - played}"


for line in sys.stdin:
    what, *words = line.split()
    if what == "train":
        print(train(words[0], *map(int, words[1:])), flush=True)
    else:
        print(grpo(*map(int, words)), flush=True)
