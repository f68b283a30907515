#!/usr/bin/env python3
"""Tiny models as llama.cpp's converter would write them, and their tensors as
Hugging Face has them.

    python3 tools/golden/gguf_policy.py

Writes model.gguf and want.safetensors into folders of
internal/checkpoint/testdata, with the small vocabularies that
tools/golden/tokenizer.py has trained. Needs:
pip install gguf==0.19.0 safetensors==0.8.0 numpy
"""

import json
import pathlib

import numpy as np
from gguf import GGMLQuantizationType as Q
from gguf import GGUFWriter, quants
from safetensors.numpy import save_file

INTERNAL = pathlib.Path(__file__).resolve().parents[2] / "internal"
OUT = INTERNAL / "checkpoint/testdata"
WIDTH, INNER, HEADS, KV, SIZE = 32, 64, 4, 2, 8
# A folder's architecture, vocabulary and its name in GGUF, and what its blocks have.
FAMILIES = {
    "gguf": dict(arch="llama", vocabulary="smollm", pre="smollm", layers=2, permuted=True),
    "gguf-llama3": dict(arch="llama", vocabulary="llama3", pre="llama-bpe", permuted=True, biases="qkvo", scaling=32.0, output=True),
    "gguf-qwen2": dict(arch="qwen2", vocabulary="qwen2", pre="qwen2", biases="qkv", output=True),
    "gguf-qwen3": dict(arch="qwen3", vocabulary="qwen2", pre="qwen2", norms=True, size=16),
}
TEMPLATE = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"


def permute(weights, heads):
    """As convert_hf_to_gguf.py does for the architecture llama."""
    return weights.reshape(heads, 2, weights.shape[0] // heads // 2, *weights.shape[1:]).swapaxes(1, 2).reshape(weights.shape)


def names(size, biases, norms):
    """A block's tensors: name here, name there, shape."""
    rows = [
        ("attn_norm.weight", "input_layernorm.weight", (WIDTH,)),
        ("attn_q.weight", "self_attn.q_proj.weight", (HEADS * size, WIDTH)),
        ("attn_k.weight", "self_attn.k_proj.weight", (KV * size, WIDTH)),
        ("attn_v.weight", "self_attn.v_proj.weight", (KV * size, WIDTH)),
        ("attn_output.weight", "self_attn.o_proj.weight", (WIDTH, HEADS * size)),
        ("ffn_norm.weight", "post_attention_layernorm.weight", (WIDTH,)),
        ("ffn_gate.weight", "mlp.gate_proj.weight", (INNER, WIDTH)),
        ("ffn_up.weight", "mlp.up_proj.weight", (INNER, WIDTH)),
        ("ffn_down.weight", "mlp.down_proj.weight", (WIDTH, INNER)),
    ]
    for letter, theirs, out in (("q", "attn_q", HEADS * size), ("k", "attn_k", KV * size), ("v", "attn_v", KV * size), ("o", "attn_output", WIDTH)):
        if letter in biases:
            rows.append((theirs + ".bias", f"self_attn.{letter}_proj.bias", (out,)))
    if norms:
        rows.append(("attn_q_norm.weight", "self_attn.q_norm.weight", (size,)))
        rows.append(("attn_k_norm.weight", "self_attn.k_norm.weight", (size,)))
    return rows


def divisors(size, theta, factor, low=1.0, high=4.0, original=8192):
    """rope_freqs.weight, as convert_hf_to_gguf.py computes it for Llama 3."""
    out = []
    for freq in 1.0 / theta ** (np.arange(0, size, 2) / size):
        wavelen = 2 * np.pi / freq
        smooth = (original / wavelen - low) / (high - low)
        out.append(1.0 if wavelen < original / high else factor if wavelen > original / low else 1 / ((1 - smooth) / factor + smooth))
    return np.array(out, np.float32)


def vocabulary(writer, name, pre):
    with open(INTERNAL / f"tokenizer/testdata/{name}.tokenizer.json", encoding="utf-8") as f:
        file = json.load(f)
    vocab = sorted(file["model"]["vocab"], key=file["model"]["vocab"].get)
    special = {a["content"] for a in file["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(vocab)
    writer.add_token_types([3 if t in special else 1 for t in vocab])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in file["model"]["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)
    return len(vocab)


def write(folder, arch, vocabulary_name, pre, layers=1, permuted=False, biases="", norms=False, scaling=None, size=SIZE, output=False):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    theta = 500000.0 if scaling else 100000.0
    writer = GGUFWriter(folder / "model.gguf", arch)
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV)
    if norms:
        writer.add_key_length(size)
        writer.add_value_length(size)
    writer.add_rope_freq_base(theta)
    writer.add_rope_dimension_count(size)
    writer.add_layer_norm_rms_eps(1e-5)
    tokens = vocabulary(writer, vocabulary_name, pre)
    want = {}

    def add(theirs, ours, shape, kind):
        data = rng.standard_normal(shape).astype(np.float32) / 8 + (1 if len(shape) == 1 else 0)
        raw = quants.quantize(data, kind)
        want[ours] = quants.dequantize(raw, kind).astype(np.float32).reshape(shape)
        if permuted and (".attn_q." in theirs or ".attn_k." in theirs):
            raw = permute(raw, HEADS if "attn_q" in theirs else KV)
        writer.add_tensor(theirs, raw, raw_dtype=kind)

    if scaling:
        writer.add_tensor("rope_freqs.weight", divisors(size, theta, scaling))
    add("token_embd.weight", "model.embed_tokens.weight", (tokens, WIDTH), Q.Q8_0)
    for i in range(layers):
        for theirs, ours, shape in names(size, biases, norms):
            add(f"blk.{i}.{theirs}", f"model.layers.{i}.{ours}", shape, Q.F32 if len(shape) == 1 else Q.Q4_1)
    add("output_norm.weight", "model.norm.weight", (WIDTH,), Q.F32)
    if output:
        add("output.weight", "lm_head.weight", (tokens, WIDTH), Q.Q8_0)
        del want["lm_head.weight"]  # large, and no different
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    del want["model.embed_tokens.weight"]
    save_file(want, folder / "want.safetensors")


def main():
    for name, f in FAMILIES.items():
        f = dict(f)
        write(OUT / name, f.pop("arch"), f.pop("vocabulary"), f.pop("pre"), **f)


if __name__ == "__main__":
    main()
