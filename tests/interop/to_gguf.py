"""Writes a policy folder's weights as a GGUF file in float32, for llama.cpp.

    to_gguf.write(FOLDER, FILE)

The tensors and the metadata are those that llama.cpp's own converter writes for
the families llama, qwen2 and qwen3.
"""

import json
import math
import pathlib

import numpy as np
import torch
from gguf import GGUFWriter
from safetensors import safe_open

FIXED = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
BLOCK = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}
PRE = {"llama": "smollm", "qwen2": "qwen2", "qwen3": "qwen2"}


def translate(name):
    stem, last = name.rsplit(".", 1)
    if stem in FIXED:
        return f"{FIXED[stem]}.{last}"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{BLOCK[part]}.{last}"


def permute(w, heads):
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def divisors(size, theta, s):
    """By how much Llama 3 slows down each pair of a head."""
    low, high, original = s["low_freq_factor"], s["high_freq_factor"], s["original_max_position_embeddings"]
    out = []
    for i in range(size // 2):
        wavelen = 2 * math.pi * theta ** (2 * i / size)
        smooth = (original / wavelen - low) / (high - low)
        out.append(1.0 if wavelen < original / high else s["factor"] if wavelen > original / low else 1 / ((1 - smooth) / s["factor"] + smooth))
    return np.array(out, np.float32)


def vocabulary(writer, folder, arch, config):
    size = config["vocab_size"]
    file = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    ids = dict(file["model"]["vocab"])
    special = {a["content"]: a["id"] for a in file["added_tokens"]}
    ids.update(special)
    names = {i: t for t, i in ids.items()}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(PRE[arch])
    writer.add_token_list([names.get(i, f"[PAD{i}]") for i in range(size)])
    writer.add_token_types([5 if i not in names else 3 if names[i] in special else 1 for i in range(size)])
    for key, add in (("bos_token_id", writer.add_bos_token_id), ("eos_token_id", writer.add_eos_token_id)):
        if isinstance(config.get(key), int):
            add(config[key])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in file["model"]["merges"]])


def write(folder, path):
    folder = pathlib.Path(folder)
    config = json.loads((folder / "config.json").read_text())
    arch, heads, kv = config["model_type"], config["num_attention_heads"], config["num_key_value_heads"]
    size = config.get("head_dim") or config["hidden_size"] // heads
    writer = GGUFWriter(path, arch)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv)
    writer.add_key_length(size)
    writer.add_value_length(size)
    writer.add_rope_dimension_count(size)
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    vocabulary(writer, folder, arch, config)
    if config.get("rope_scaling"):
        writer.add_tensor("rope_freqs.weight", divisors(size, config["rope_theta"], config["rope_scaling"]))
    with safe_open(folder / "model.safetensors", framework="pt") as f:
        for name in f.keys():
            w = f.get_tensor(name).to(torch.float32).numpy()
            if arch == "llama" and (".q_proj." in name or ".k_proj." in name):
                w = permute(w, heads if ".q_proj." in name else kv)
            writer.add_tensor(translate(name), np.ascontiguousarray(w))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
