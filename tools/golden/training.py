#!/usr/bin/env python3
"""What TRL, PEFT and PyTorch compute of one batch of a tiny Llama with adapters.

    python3 tools/golden/training.py

Writes internal/train/testdata/trl.safetensors: the model, the adapters, the rows
and what every loss gives: TRL's own GRPOTrainer._compute_loss for the losses of
CASES, a plain imitation loss, and ten steps of torch.optim.AdamW with each of the
two in STEPS. Needs:
pip install torch==2.15.0 transformers==5.24.0 peft==0.21.2 trl==1.16.0 safetensors==0.8.0
"""

import hashlib
import json
import os
import pathlib
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402
from datasets import Dataset  # noqa: E402
from peft import LoraConfig, get_peft_model  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "internal/train/testdata/trl.safetensors"
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
RANK, ALPHA, LIMIT, BETA = 2, 5, 12, 0.1
PROMPT, COMPLETION = 5, 10

# A loss of TRL's, by the name that the test here gives it.
CASES = {
    "clip-token": dict(loss_type="dapo", epsilon=0.2, epsilon_high=0.28),
    "clip-sequence": dict(loss_type="grpo", epsilon=0.2),
    "clip-constant": dict(loss_type="dr_grpo", epsilon=0.2),
    "dual-clip": dict(loss_type="grpo", epsilon=0.2, delta=1.5),
    "cispo": dict(loss_type="cispo", epsilon_high=5.0),
    "gspo": dict(loss_type="grpo", importance_sampling_level="sequence", epsilon=3e-4, epsilon_high=4e-4),
    "kl": dict(loss_type="dapo", epsilon=0.2, beta=BETA, use_bias_correction_kl=False),
}
STEPS, LR, DECAY, CLIP = 10, 1e-2, 0.1, 0.05


def main():
    torch.manual_seed(11)
    config = transformers.LlamaConfig(
        vocab_size=320, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        head_dim=8, max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )
    base = transformers.LlamaForCausalLM(config).float()
    with torch.no_grad():
        for name, p in base.named_parameters():
            p.add_(0.2 * torch.randn_like(p))
    out = {"param." + n: p.detach().clone() for n, p in base.named_parameters()}
    model = get_peft_model(base, LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=TARGETS, task_type="CAUSAL_LM"))
    lora = {n.replace(".default.", "."): p for n, p in model.named_parameters() if p.requires_grad}
    with torch.no_grad():
        for name, p in lora.items():
            p.copy_(0.3 * torch.randn_like(p))
            out["lora." + name] = p.detach().clone()
    start = {n: p.detach().clone() for n, p in lora.items()}

    batch = rows(out)
    with torch.no_grad():
        logp = logprobs(model, batch)
        batch["old_per_token_logps"] = logp + 0.3 * torch.randn_like(logp)
        with model.disable_adapter():
            batch["ref_per_token_logps"] = logprobs(model, batch)
    out["logp"], out["old"], out["reference"] = logp, batch["old_per_token_logps"], batch["ref_per_token_logps"]

    for name, options in CASES.items():
        loss = trl_loss(base_trainer(model, options), model, batch)
        record(out, name, model, lora, loss)
    record(out, "sft", model, lora, imitation(model, batch))

    optimise(out, "sft", model, lora, start, lambda: imitation(model, batch))
    trainer = base_trainer(model, CASES["clip-token"])
    optimise(out, "clip-token", model, lora, start, lambda: trl_loss(trainer, model, batch))

    OUT.parent.mkdir(exist_ok=True)
    save_file({k: v.float().contiguous() for k, v in out.items()}, OUT, {
        "format": "agentmill-golden", "version": "1", "config": json.dumps(config.to_dict(), default=str),
        "script": hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest(),
    })
    print(OUT, OUT.stat().st_size)


def rows(out):
    """Four rows of unequal length, with a tool's result in the middle."""
    n = 4
    batch = {
        "prompt_ids": torch.randint(3, 320, (n, PROMPT)), "prompt_mask": torch.ones(n, PROMPT, dtype=torch.long),
        "completion_ids": torch.randint(3, 320, (n, COMPLETION)), "completion_mask": torch.ones(n, COMPLETION, dtype=torch.long),
        "tool_mask": torch.ones(n, COMPLETION, dtype=torch.long), "advantages": torch.tensor([1.3, -0.4, -0.7, 0.2]),
    }
    for i, (length, tool) in enumerate([(10, (4, 7)), (3, None), (8, (2, 5)), (6, (1, 2))]):
        batch["completion_mask"][i, length:] = 0
        if tool:
            batch["tool_mask"][i, tool[0]:tool[1]] = 0
    batch["num_items_in_batch"] = (batch["completion_mask"] * batch["tool_mask"]).sum()
    for name in ("prompt_ids", "completion_ids", "completion_mask", "tool_mask", "advantages"):
        out[name] = batch[name]
    return batch


def logprobs(model, batch):
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
    logits = model(ids).logits[:, PROMPT - 1:-1]
    return torch.log_softmax(logits, -1).gather(2, batch["completion_ids"][..., None])[..., 0]


def mask(batch):
    return batch["completion_mask"] * batch["tool_mask"]


def imitation(model, batch):
    m = mask(batch)
    return -(logprobs(model, batch) * m).sum() / m.sum()


def base_trainer(model, options):
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(ROOT / "internal/tokenizer/testdata/smollm.tokenizer.json"), eos_token="<|im_end|>", pad_token="<|im_end|>")
    args = GRPOConfig(
        output_dir=tempfile.mkdtemp(), per_device_train_batch_size=4, num_generations=4, max_completion_length=LIMIT, report_to=[],
        use_cpu=True, bf16=False, gradient_accumulation_steps=1, steps_per_generation=1, **options,
    )
    data = Dataset.from_dict({"prompt": ["a"] * 4})
    trainer = GRPOTrainer(model=model, reward_funcs=lambda completions, **_: [0.0] * len(completions), args=args, train_dataset=data, processing_class=tokenizer)
    trainer.current_gradient_accumulation_steps = 1
    return trainer


def trl_loss(trainer, model, batch):
    model.train()  # no dropout here: it only chooses TRL's normaliser
    return trainer._compute_loss(model, dict(batch))


def record(out, name, model, lora, loss):
    model.zero_grad()
    loss.backward()
    out[f"{name}.loss"] = loss.detach().reshape(1)
    for n, p in lora.items():
        out[f"{name}.grad.{n}"] = p.grad.clone()


def optimise(out, name, model, lora, start, loss_of):
    with torch.no_grad():
        for n, p in lora.items():
            p.copy_(start[n])
    optimizer = torch.optim.AdamW(lora.values(), lr=LR, betas=(0.9, 0.95), eps=1e-8, weight_decay=DECAY)
    losses, norms = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(lora.values(), CLIP))
        losses.append(loss.detach())
        optimizer.step()
    out[f"{name}.losses"], out[f"{name}.norms"] = torch.stack(losses), torch.stack(norms)
    for n, p in lora.items():
        out[f"{name}.final.{n}"] = p.detach().clone()
        with torch.no_grad():
            p.copy_(start[n])


if __name__ == "__main__":
    main()
