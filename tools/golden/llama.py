#!/usr/bin/env python3
"""Writes golden numbers of a tiny Llama, made by transformers, PEFT and PyTorch.

    pip install torch transformers peft safetensors
    python3 tools/golden/llama.py internal/model/llama/testdata/golden.safetensors

The file holds the configuration (as metadata), the starting weights, logits,
loss and gradients of two sequences, and losses and weights of ten AdamW steps
with gradient clipping. Then the same starting weights under a LoRA adapter: its
matrices, the logits and the gradients. Token ids are stored as float32.
"""
import hashlib
import json
import sys

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

STEPS, LR, BETAS, EPS, DECAY, CLIP = 10, 1e-2, (0.9, 0.95), 1e-8, 0.1, 1.0
RANK, ALPHA = 3, 5


def main(path):
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        rms_norm_eps=1e-5, tie_word_embeddings=False, initializer_range=0.25,
        attn_implementation="eager",
    )
    model = LlamaForCausalLM(config).float()
    with torch.no_grad():  # norms start at 1; other values tell more
        for name, p in model.named_parameters():
            if "norm" in name:
                p.add_(0.2 * torch.randn_like(p))
    sequences = [torch.randint(0, 32, (n,)) for n in (11, 6)]
    masks = [torch.rand(len(s)) < 0.5 for s in sequences]
    for m in masks:
        m[0], m[-1] = False, True

    out = {}
    for name, p in model.named_parameters():
        out["param." + name] = p.detach().clone()
    for i, (s, m) in enumerate(zip(sequences, masks)):
        out[f"ids.{i}"], out[f"mask.{i}"] = s.float(), m.float()
        out[f"logits.{i}"] = model(s[None]).logits[0].detach().clone()

    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=BETAS, eps=EPS, weight_decay=DECAY)
    losses, norms = [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = mean_loss(model, sequences, masks)
        loss.backward()
        if step == 0:
            for name, p in model.named_parameters():
                out["grad." + name] = p.grad.clone()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP))
        losses.append(loss.detach())
        optimizer.step()
    for name, p in model.named_parameters():
        out["final." + name] = p.detach().clone()
    out["losses"], out["norms"] = torch.stack(losses), torch.stack(norms)

    model.load_state_dict({k[len("param."):]: v for k, v in out.items() if k.startswith("param.")})
    lora(model, sequences, masks, out)

    metadata = {
        "format": "agentmill-golden", "version": "1",
        "script": hashlib.sha256(open(__file__, "rb").read()).hexdigest(),
        "config": json.dumps(config.to_dict(), default=str),
    }
    save_file({k: v.contiguous() for k, v in out.items()}, path, metadata)


def lora(model, sequences, masks, out):
    """Adds an adapter on all projections to out."""
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    adapted = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=targets, lora_dropout=0.0))
    trained = {n.replace(".default.", "."): p for n, p in adapted.named_parameters() if p.requires_grad}
    with torch.no_grad():
        for p in trained.values():
            p.copy_(0.3 * torch.randn_like(p))
    adapted.zero_grad()
    mean_loss(adapted, sequences, masks).backward()
    for name, p in trained.items():
        out["lora." + name], out["lora_grad." + name] = p.detach().clone(), p.grad.clone()
    for i, s in enumerate(sequences):
        out[f"lora_logits.{i}"] = adapted(s[None]).logits[0].detach().clone()


def mean_loss(model, sequences, masks):
    """Mean negative log-probability of the masked tokens of all sequences."""
    total, count = 0.0, 0
    for s, m in zip(sequences, masks):
        logp = torch.log_softmax(model(s[None]).logits[0, :-1], -1)
        logp = logp.gather(1, s[1:, None])[:, 0]
        total, count = total - (logp * m[1:]).sum(), count + int(m.sum())
    return total / count


if __name__ == "__main__":
    main(sys.argv[1])
