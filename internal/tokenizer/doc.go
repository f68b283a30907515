// Package tokenizer turns text into token ids and back with byte-level BPE, as
// Hugging Face's tokenizers does for GPT-2, SmolLM2, Qwen2 and Llama 3.
//
// FromJSON reads a tokenizer.json, New takes a Vocab from anywhere else (a GGUF
// file's metadata); JSON writes a tokenizer.json. Encode treats its text as
// mere text: "<|im_end|>" in a mail never becomes the control token.
// EncodeSpecial recognises control tokens, as Hugging Face does by default.
//
// K1: for valid UTF-8, EncodeSpecial and Decode agree with tokenizers id for id
// and byte for byte.
// K2: DecodeBytes(Encode(s)) is s without the bytes that the vocabulary lacks
// (SmolLM2's lacks 21, none of which occurs in ordinary text).
//
// The package does no input or output. A Tokenizer is safe for concurrent use.
package tokenizer
