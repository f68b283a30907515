#!/usr/bin/env python3
"""Golden numbers of tiny models of each family, made by transformers, PEFT and PyTorch.

    pip install torch==2.15.0 transformers==5.24.0 peft==0.21.2 safetensors==0.8.0
    python3 tools/golden/families.py

Writes internal/model/FAMILY/testdata/*.safetensors. Each file holds the
configuration (as metadata), the weights, and of two sequences the logits, the
targets' log-probabilities and the gradient of their negative mean; then the same
under a LoRA adapter on all projections, with its matrices. The file of the plain
Llama also has the losses, gradient norms and weights of ten AdamW steps with
gradient clipping. Token ids are stored as float32.
"""
import hashlib
import json
import pathlib

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

STEPS, LR, BETAS, EPS, DECAY, CLIP = 10, 1e-2, (0.9, 0.95), 1e-8, 0.1, 1.0
RANK, ALPHA = 3, 5
OUT = pathlib.Path(__file__).resolve().parents[2] / "internal/model"
VOCAB = 32
SIZES = dict(
    vocab_size=VOCAB, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5, initializer_range=0.25,
    attn_implementation="eager",
)
# The rotation of Llama 3.1, its original positions so few that all three of its
# cases occur: untouched, mixed and slowed down.
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 50.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 26,
}


def models():
    """File, model, and whether it is trained as well."""
    yield "llama/testdata/llama", LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=False)), True
    yield "llama/testdata/llama3", LlamaForCausalLM(LlamaConfig(
        **SIZES, tie_word_embeddings=True, head_dim=8, rope_parameters=LLAMA3, attention_bias=True, mlp_bias=True)), False
    yield "qwen2/testdata/untied", Qwen2ForCausalLM(Qwen2Config(**SIZES, tie_word_embeddings=False)), False
    yield "qwen2/testdata/tied", Qwen2ForCausalLM(Qwen2Config(**SIZES, tie_word_embeddings=True)), False
    yield "qwen3/testdata/tied", Qwen3ForCausalLM(Qwen3Config(**SIZES, tie_word_embeddings=True, head_dim=6)), False
    yield "qwen3/testdata/untied", Qwen3ForCausalLM(Qwen3Config(**SIZES, tie_word_embeddings=False, head_dim=8)), False


def main():
    torch.manual_seed(7)
    for name, model, trained in models():
        out = golden(model.float(), trained)
        metadata = {
            "format": "agentmill-golden", "version": "2",
            "script": hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest(),
            "config": json.dumps(model.config.to_dict(), default=str),
        }
        path = OUT / (name + ".safetensors")
        path.parent.mkdir(exist_ok=True)
        save_file({k: v.contiguous() for k, v in out.items()}, path, metadata)


def golden(model, trained):
    with torch.no_grad():  # norms start at 1 and biases at 0; other values tell more
        for name, p in model.named_parameters():
            if "norm" in name or name.endswith(".bias"):
                p.add_(0.2 * torch.randn_like(p))
    sequences = [torch.randint(0, VOCAB, (n,)) for n in (27, 6)]
    masks = [torch.rand(len(s)) < 0.5 for s in sequences]
    for m in masks:
        m[0], m[-1] = False, True
    data = (sequences, masks)

    out = {}
    for name, p in model.named_parameters():
        out["param." + name] = p.detach().clone()
    for i, (s, m) in enumerate(zip(sequences, masks)):
        out[f"ids.{i}"], out[f"mask.{i}"] = s.float(), m.float()
    scores(model, data, out, "", {name: p for name, p in model.named_parameters()})
    if trained:
        train(model, data, out)
        model.load_state_dict({k[len("param."):]: v for k, v in out.items() if k.startswith("param.")})
    lora(model, data, out)
    return out


def scores(model, data, out, prefix, trained):
    """Logits, log-probabilities and gradients."""
    for i, s in enumerate(data[0]):
        out[f"{prefix}logits.{i}"] = model(s[None]).logits[0].detach().clone()
    model.zero_grad()
    logp = logprobs(model, data)
    (-logp.mean()).backward()
    out[prefix + "logp"] = logp.detach().clone()
    for name, p in trained.items():
        out[f"{prefix}grad.{name}"] = p.grad.clone()


def train(model, data, out):
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=BETAS, eps=EPS, weight_decay=DECAY)
    losses, norms = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = -logprobs(model, data).mean()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP))
        losses.append(loss.detach())
        optimizer.step()
    for name, p in model.named_parameters():
        out["final." + name] = p.detach().clone()
    out["losses"], out["norms"] = torch.stack(losses), torch.stack(norms)


def lora(model, data, out):
    """Adds an adapter on all projections to out."""
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    adapted = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=targets, lora_dropout=0.0))
    trained = {n.replace(".default.", "."): p for n, p in adapted.named_parameters() if p.requires_grad}
    with torch.no_grad():
        for name, p in trained.items():
            p.copy_(0.3 * torch.randn_like(p))
            out["lora." + name] = p.detach().clone()
    scores(adapted, data, out, "lora_", trained)


def logprobs(model, data):
    """The log-probability of each masked token, sequence by sequence."""
    rows = []
    for s, m in zip(*data):
        logp = torch.log_softmax(model(s[None]).logits[0, :-1], -1)
        rows.append(logp.gather(1, s[1:, None])[:, 0][m[1:]])
    return torch.cat(rows)


if __name__ == "__main__":
    main()
