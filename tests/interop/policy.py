"""What transformers and PEFT make of a policy folder.

Reads a request from standard input and answers on standard output, in JSON:

    {"make": {...}}               write a folder first (see make)
    {"dir": FOLDER}               load it with AutoTokenizer, AutoModelForCausalLM
    {"dir": FOLDER, "gguf": FILE} load a GGUF file of the folder
    {"adapter": FOLDER}           load a PEFT adapter over the model
    {"texts": [...]}              encode these
    {"messages": [...]}           encode these by the chat template
    {"ids": [[...]]}              all logits after each of these rows of ids
    {"last": [[...]]}             the logits after the last id of each row
"""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def make(request, base):
    """A folder as transformers or PEFT itself writes it, of random weights."""
    torch.manual_seed(3)
    if request["kind"] == "adapter":
        import peft

        config = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "down_proj"], task_type="CAUSAL_LM")
        model = peft.get_peft_model(transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), config)
        for name, value in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(value, std=0.05)
        model.save_pretrained(request["out"])
        return
    family = request["family"]
    sizes = dict(
        vocab_size=request["vocab"], hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=6,
        num_key_value_heads=2, max_position_embeddings=256, rms_norm_eps=1e-6, tie_word_embeddings=False,
    )
    rope = {"rope_type": "default", "rope_theta": 50000.0}
    if family == "llama":
        rope = {
            "rope_type": "llama3", "rope_theta": 50000.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        }
    if family != "qwen2":
        sizes["head_dim"] = 16
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(family, **sizes, rope_parameters=rope))
    for value in model.parameters():
        torch.nn.init.normal_(value, mean=1.0 if value.dim() == 1 else 0.0, std=0.15)
    model.save_pretrained(request["out"], max_shard_size="40KB")
    transformers.AutoTokenizer.from_pretrained(base).save_pretrained(request["out"])


def main():
    torch.set_num_threads(max(1, os.cpu_count() - 1))  # its threads wait by spinning
    request = json.load(sys.stdin)
    answer = {}
    with torch.no_grad():
        if "make" in request:
            make(request["make"], request.get("dir"))
        if "texts" in request or "messages" in request:
            tok = transformers.AutoTokenizer.from_pretrained(request["dir"])
            answer["encoded"] = [tok.encode(t, add_special_tokens=False) for t in request.get("texts", [])]
            answer["eos"] = tok.eos_token_id
            if "messages" in request:
                chat = tok.apply_chat_template(request["messages"], add_generation_prompt=True, tokenize=True, return_dict=True)
                answer["chat"] = chat["input_ids"]
        if "ids" in request or "last" in request:
            source = {"gguf_file": request["gguf"]} if "gguf" in request else {}
            model = transformers.AutoModelForCausalLM.from_pretrained(request["dir"], dtype=torch.float32, **source)
            if "adapter" in request:
                import peft

                model = peft.PeftModel.from_pretrained(model, request["adapter"])
            model.eval()
            run = lambda ids: model(torch.tensor([ids])).logits[0]  # noqa: E731
            answer["logits"] = [run(ids).flatten().tolist() for ids in request.get("ids", [])]
            answer["last"] = [run(ids)[-1].tolist() for ids in request.get("last", [])]
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
