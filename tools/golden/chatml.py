#!/usr/bin/env python3
"""Conversations as SmolLM2's published chat template and transformers encode them.

    python3 tools/golden/chatml.py

Writes internal/chatml/testdata/chatml.json, for the small tokenizer that
tools/golden/tokenizer.py has trained. Needs: pip install transformers==5.24.0
"""

import json
import pathlib

from transformers import PreTrainedTokenizerFast

INTERNAL = pathlib.Path(__file__).resolve().parents[2] / "internal"
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
GAME = [
    ("system", "Each turn is one line: search WORDS, read ID, or answer TEXT | ID."),
    ("user", "Today is 2001-06-01. When does the contract with Blue Harbor end?"),
    ("assistant", "search contract harbor"),
    ("user", "12 2001-05-01 Ada Quill: contract | It ends on  31 May\n34 2001-04-02 Ben: re: 日本 😀"),
    ("assistant", "read 12"),
    ("user", " From: ada.quill@example.com\n\nIt ends on 31 May 2001.\n"),
    ("assistant", "answer 31 May 2001 | 12"),
]
CASES = {"one turn": GAME[:2], "two turns": GAME[:4], "three turns": GAME[:6], "finished": GAME, "no system message": GAME[1:2]}


def main():
    tok = PreTrainedTokenizerFast(tokenizer_file=str(INTERNAL / "tokenizer/testdata/smollm.tokenizer.json"))
    tok.chat_template = TEMPLATE
    rows = []
    for name, turns in CASES.items():
        messages = [{"role": role, "content": content} for role, content in turns]
        ids = tok.apply_chat_template(messages, add_generation_prompt=name != "finished", tokenize=True, return_dict=True)["input_ids"]
        rows.append({"name": name, "messages": messages, "ids": ids})
    out = INTERNAL / "chatml/testdata"
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "chatml.json", "w", encoding="utf-8") as f:
        json.dump(rows, f, ensure_ascii=True, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
