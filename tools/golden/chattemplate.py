#!/usr/bin/env python3
"""Conversations as transformers renders them by hand-made chat templates.

    python3 tools/golden/chattemplate.py

Writes internal/chattemplate/testdata/rendered.jsonl for the templates there.
Needs: pip install transformers==5.24.0
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/interop"))

import chats  # noqa: E402


def main():
    data = ROOT / "internal/chattemplate/testdata"
    with open(data / "rendered.jsonl", "w", encoding="utf-8") as f:
        for path in sorted(data.glob("*.jinja")):
            for case in chats.cases():
                row = {"template": path.name, **case}
                try:
                    row["text"] = chats.render(path.read_text(encoding="utf-8"), case)
                except Exception as e:  # noqa: BLE001
                    row["error"] = str(e)
                f.write(json.dumps(row, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
