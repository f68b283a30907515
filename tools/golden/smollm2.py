#!/usr/bin/env python3
"""Writes golden numbers of SmolLM2-135M-Instruct, made by transformers.

    pip install torch transformers gguf
    python3 tools/golden/smollm2.py models/smollm2 internal/catalog/testdata/smollm2.json

The folder holds model.gguf, which transformers dequantises to float32 by itself;
everything is then computed in float64.
For each prompt: its token ids, the log-probability of each token after the
first, and the ten largest logits after the last one. For the second prompt: the
norm of each tensor's gradient of the mean negative log-probability.
"""
import hashlib
import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

PROMPTS = [
    "The capital of France is Paris, and the capital of Italy is Rome.",
    "<|im_start|>user\nWhen does the 3rd quarterly review start?<|im_end|>\n<|im_start|>assistant\n",
    "def add(a, b):\n    return a + b\n\nprint(add(2, 40))  # 42\n",
    "Dear Zoë,\n\n\tthe meeting moved to 14:30 — see you there! \U0001f642\n" * 12,
]


def main(folder, path):
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file="model.gguf")
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file="model.gguf", dtype=torch.float32).double()
    cases = []
    for text in PROMPTS:
        ids = tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
        with torch.no_grad():
            logits = model(ids).logits[0]
        logp = torch.log_softmax(logits[:-1], -1).gather(1, ids[0, 1:, None])[:, 0]
        top = logits[-1].topk(10)
        cases.append({
            "text": text, "ids": ids[0].tolist(),
            "logp": [round(v, 5) for v in logp.tolist()],
            "top_ids": top.indices.tolist(), "top_logits": [round(v, 5) for v in top.values.tolist()],
        })
    ids = torch.tensor([cases[1]["ids"]])
    model(ids, labels=ids).loss.backward()
    grads = {name: float(f"{p.grad.norm().item():.6g}") for name, p in model.named_parameters()}
    out = {
        "format": "agentmill-golden", "version": 1,
        "script": hashlib.sha256(open(__file__, "rb").read()).hexdigest(),
        "model_sha256": hashlib.sha256(open(folder + "/model.gguf", "rb").read()).hexdigest(),
        "cases": cases, "grad_norms": grads,
    }
    with open(path, "w", encoding="utf-8") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
