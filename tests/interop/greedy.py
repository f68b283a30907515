"""The most probable next tokens by transformers and by llama.cpp.

Reads {"dir": FOLDER, "prompts": [[...]], "tokens": N} from standard input and
answers {"transformers": [[...]], "llama.cpp": [[...]]}: N ids after each prompt,
both from the folder's weights in float32. llama.cpp reads them from a GGUF file
that is written beside the folder, and ends a row after a token that ends the text.
With {"gguf": FILE} in place of the folder it answers for llama.cpp and that file alone.
"""

import concurrent.futures
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402
import xllamacpp  # noqa: E402

import to_gguf  # noqa: E402

BATCH = 8
THREADS = max(1, os.cpu_count() - 1)  # both wait for their threads by spinning

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def by_transformers(folder, prompts, tokens):
    """Prompts of equal length go together; nothing is padded."""
    torch.set_num_threads(THREADS)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    rows = {}
    for length in sorted(set(map(len, prompts))):
        chosen = [i for i, p in enumerate(prompts) if len(p) == length]
        for part in (chosen[k : k + BATCH] for k in range(0, len(chosen), BATCH)):
            ids, past, steps = torch.tensor([prompts[i] for i in part]), None, []
            for _ in range(tokens):
                out = model(ids, past_key_values=past, use_cache=True, logits_to_keep=1)
                past = out.past_key_values
                ids = out.logits[:, -1].argmax(-1, keepdim=True)
                steps.append(ids)
            rows.update(zip(part, torch.cat(steps, 1).tolist()))
    return [rows[i] for i in range(len(prompts))]


def from_folder(folder):
    path = folder.rstrip("/") + ".f32.gguf"
    to_gguf.write(folder, path)
    return path


def by_llama_cpp(path, prompts, tokens):
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = BATCH * (max(map(len, prompts)) + tokens + 8)
    params.n_parallel = BATCH
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.fit_params = params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    server = xllamacpp.Server(params)

    def run(prompt):
        answer = server.handle_completions({
            "prompt": prompt, "n_predict": tokens, "temperature": 0.0, "cache_prompt": False, "verbose": True, "return_tokens": True,
        })
        return answer["__verbose"]["tokens"]

    with concurrent.futures.ThreadPoolExecutor(BATCH) as pool:
        return list(pool.map(run, prompts))


def main():
    request = json.load(sys.stdin)
    given = request["prompts"], request["tokens"]
    if request.get("gguf"):
        answer = {"llama.cpp": by_llama_cpp(request["gguf"], *given)}
    else:
        with torch.no_grad():
            answer = {"transformers": by_transformers(request["dir"], *given), "llama.cpp": by_llama_cpp(from_folder(request["dir"]), *given)}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
