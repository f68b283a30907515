#!/usr/bin/env python3
"""A small GGUF file with a tensor of every supported type, and the values that
the package gguf gives them.

    python3 tools/golden/gguf_types.py

Writes internal/gguf/testdata/types.gguf and types.json. Needs:
pip install gguf==0.19.0 numpy
"""

import json
import pathlib

import numpy as np
from gguf import GGMLQuantizationType as Q
from gguf import GGUFWriter, quants
from gguf.constants import GGML_QUANT_SIZES

OUT = pathlib.Path(__file__).resolve().parents[2] / "internal/gguf/testdata"
KINDS = [Q.F32, Q.F16, Q.BF16, Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q5_1, Q.Q8_0, Q.Q4_K, Q.Q5_K, Q.Q6_K]
ROWS, COLS = 2, 256

# Where the half-precision scales stand in a block.
SCALES = {
    Q.Q4_0: [0], Q.Q4_1: [0, 2], Q.Q5_0: [0], Q.Q5_1: [0, 2], Q.Q8_0: [0],
    Q.Q4_K: [0, 2], Q.Q5_K: [0, 2], Q.Q6_K: [208],
}


def raw_rows(kind, rng):
    """Random bytes with sane scales: every bit of the format is exercised."""
    if kind in (Q.F32, Q.F16):
        dtype = np.float32 if kind == Q.F32 else np.float16
        return rng.standard_normal((ROWS, COLS)).astype(dtype)
    if kind == Q.BF16:
        return quants.quantize(rng.standard_normal((ROWS, COLS)).astype(np.float32), kind)
    block, size = GGML_QUANT_SIZES[kind]
    data = rng.integers(0, 256, (ROWS, COLS // block, size), dtype=np.uint8)
    for at in SCALES[kind]:
        scale = (rng.standard_normal((ROWS, COLS // block, 1)) / 8).astype(np.float16)
        data[:, :, at : at + 2] = scale.view(np.uint8)
    return data.reshape(ROWS, -1)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(11)
    writer = GGUFWriter(OUT / "types.gguf", "llama")
    writer.add_uint8("t.u8", 200)
    writer.add_int8("t.i8", -100)
    writer.add_uint16("t.u16", 60000)
    writer.add_int16("t.i16", -30000)
    writer.add_uint32("t.u32", 4000000000)
    writer.add_int32("t.i32", -2000000000)
    writer.add_float32("t.f32", 0.5)
    writer.add_float64("t.f64", 0.1)
    writer.add_bool("t.bool", True)
    writer.add_uint64("t.u64", 2**63)
    writer.add_int64("t.i64", -(2**62))
    writer.add_string("t.string", "tütata")
    writer.add_array("t.strings", ["a", "", "bc"])
    writer.add_array("t.ints", [1, -2, 3])
    writer.add_array("t.floats", [0.5, -2.0])
    want = {}
    for kind in KINDS:
        name = kind.name.lower().replace("_k", "_K")
        data = raw_rows(kind, rng)
        plain = kind in (Q.F32, Q.F16)
        writer.add_tensor(name + ".weight", data, raw_dtype=None if plain else kind)
        values = data.astype(np.float32) if plain else quants.dequantize(data, kind)
        want[name] = [float(v) for v in values.astype(np.float32).reshape(-1)]
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with open(OUT / "types.json", "w") as f:
        json.dump(want, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
