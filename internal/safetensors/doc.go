// Package safetensors reads and writes safetensors files, alone or as the shards
// that a model.safetensors.index.json names.
//
// Open maps one file and reads its header, OpenSet a model of one or many files;
// Tensor and Fill convert values, from f32, f16 or bf16, on demand, from where
// they lie. Write streams a file.
//
// S1: a malformed file is an error that names file and tensor; the header's
// claims never make the reader allocate more than the file is long.
// S2: a tensor that Tensor returns is finite throughout.
// S3: Write's bytes depend on its arguments alone.
package safetensors
