// Package gguf reads GGUF files, versions 2 and 3: metadata and tensors of the
// types f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q4_K, q5_K and q6_K. It
// writes version 3, f32 and bf16.
//
// Open maps the file and reads the header alone; Tensor and Fill dequantise on
// demand, from where the values lie. Names and
// shapes are the file's own, but with the longest stride first (row-major,
// [out, in] for a matrix). The permutation that llama.cpp's converter applies to
// query and key rows is not undone here; package checkpoint does that.
//
// G1: a malformed file is an error that names the file and the field or tensor;
// it never makes the reader allocate more than a small multiple of the file's size.
// G2: a tensor that Tensor returns is finite throughout.
package gguf
