// Package checkpoint opens and writes policy folders.
//
// A policy is a folder in Hugging Face layout (config.json, tokenizer.json,
// tokenizer_config.json, model.safetensors or shards), or one with model.gguf in
// place of those, or a PEFT adapter (adapter_config.json,
// adapter_model.safetensors) over another policy. agentmill.json says how it
// came about, trainer/ holds what training goes on with.
//
// Open and Save are what most callers want. Whatever a folder is made of, an
// open Policy has the published names and layout of tensors, a Hugging Face
// configuration and a tokenizer; a policy saved from a GGUF parent is a complete
// Hugging Face folder.
//
// P1: a policy's Hash is a hash of its weight files' bytes: for one file its
// SHA-256, as sha256sum prints it; for an adapter it covers its base, its file,
// rank and alpha. A folder whose agentmill.json records another hash than its
// weights have is refused.
// P2: a saved folder appears whole or not at all, and its bytes depend on what
// was given to Save alone.
package checkpoint
