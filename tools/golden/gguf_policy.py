#!/usr/bin/env python3
"""A tiny Llama as llama.cpp's converter would write it, and its tensors as
Hugging Face has them.

    python3 tools/golden/gguf_policy.py

Writes internal/checkpoint/testdata/gguf/model.gguf and want.safetensors, with
the small vocabulary that tools/golden/tokenizer.py has trained. Needs:
pip install gguf==0.19.0 safetensors==0.8.0 numpy
"""

import json
import pathlib

import numpy as np
from gguf import GGMLQuantizationType as Q
from gguf import GGUFWriter, quants
from safetensors.numpy import save_file

INTERNAL = pathlib.Path(__file__).resolve().parents[2] / "internal"
OUT = INTERNAL / "checkpoint/testdata/gguf"
WIDTH, INNER, LAYERS, HEADS, KV, SIZE = 32, 64, 2, 4, 2, 8
NAMES = {
    "attn_norm": ("input_layernorm", (WIDTH,)),
    "attn_q": ("self_attn.q_proj", (HEADS * SIZE, WIDTH)),
    "attn_k": ("self_attn.k_proj", (KV * SIZE, WIDTH)),
    "attn_v": ("self_attn.v_proj", (KV * SIZE, WIDTH)),
    "attn_output": ("self_attn.o_proj", (WIDTH, HEADS * SIZE)),
    "ffn_norm": ("post_attention_layernorm", (WIDTH,)),
    "ffn_gate": ("mlp.gate_proj", (INNER, WIDTH)),
    "ffn_up": ("mlp.up_proj", (INNER, WIDTH)),
    "ffn_down": ("mlp.down_proj", (WIDTH, INNER)),
}
TEMPLATE = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"


def permute(weights, heads):
    """As convert_hf_to_gguf.py does for the architecture llama."""
    return weights.reshape(heads, 2, weights.shape[0] // heads // 2, *weights.shape[1:]).swapaxes(1, 2).reshape(weights.shape)


def vocabulary(writer):
    with open(INTERNAL / "tokenizer/testdata/smollm.tokenizer.json", encoding="utf-8") as f:
        file = json.load(f)
    vocab = sorted(file["model"]["vocab"], key=file["model"]["vocab"].get)
    special = {a["content"] for a in file["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(vocab)
    writer.add_token_types([3 if t in special else 1 for t in vocab])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in file["model"]["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)
    return len(vocab)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    writer = GGUFWriter(OUT / "model.gguf", "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV)
    writer.add_rope_freq_base(100000.0)
    writer.add_rope_dimension_count(SIZE)
    writer.add_layer_norm_rms_eps(1e-5)
    size = vocabulary(writer)
    want = {}

    def add(theirs, ours, shape, kind):
        data = rng.standard_normal(shape).astype(np.float32) / 8 + (1 if len(shape) == 1 else 0)
        raw = quants.quantize(data, kind)
        want[ours] = quants.dequantize(raw, kind).astype(np.float32).reshape(shape)
        if ".attn_q." in theirs or ".attn_k." in theirs:
            raw = permute(raw, HEADS if "attn_q" in theirs else KV)
        writer.add_tensor(theirs, raw, raw_dtype=kind)

    add("token_embd.weight", "model.embed_tokens.weight", (size, WIDTH), Q.Q8_0)
    for i in range(LAYERS):
        for theirs, (ours, shape) in NAMES.items():
            add(f"blk.{i}.{theirs}.weight", f"model.layers.{i}.{ours}.weight", shape, Q.F32 if len(shape) == 1 else Q.Q4_1)
    add("output_norm.weight", "model.norm.weight", (WIDTH,), Q.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    del want["model.embed_tokens.weight"]  # large, and no different
    save_file(want, OUT / "want.safetensors")


if __name__ == "__main__":
    main()
