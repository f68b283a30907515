#!/usr/bin/env bash
# baselines.sh QUESTIONS INDEX [MODEL …]: how far does prompting get? For each
# model several prompts are tried on validation questions; the best one plays the
# test questions. Ends with a table beside the heuristic, and says whether
# prompting is enough (NEED). Models whose key is not in the environment, and
# those that cannot be played to the end, are passed over. Replies are kept in RUN/replies: nothing is paid twice.
#   RUN=runs/baselines VAL_N=50 TEST_N=200 BUDGET=5 NEED='accuracy.low >= 0.9'
#   BASE_URL=… KEY=NAME: for models that the table below does not know
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: pipelines/baselines.sh QUESTIONS INDEX [MODEL ...]" >&2; exit 2; }
questions=$1 index=$2
shift 2
run=${RUN:-runs/baselines} prompts=${PROMPTS:-pipelines/prompts} prices=${PRICES:-pipelines/baselines.yaml}
need=${NEED:-accuracy.low >= 0.9}
mkdir -p "$run"

server() { # server MODEL: its base URL and the variable with its key
	case $1 in
	gemini-*) echo "https://generativelanguage.googleapis.com/v1beta/openai GEMINI_API_KEY" ;;
	claude-*) echo "https://api.anthropic.com/v1 ANTHROPIC_API_KEY" ;;
	o[0-9]* | gpt-*) echo "https://api.openai.com/v1 OPENAI_API_KEY" ;;
	*) echo "${BASE_URL:-} ${KEY:-OPENAI_API_KEY}" ;;
	esac
}

known() { sed -n 's/^  \([^:]*\): {.*/\1/p' "$prices"; }

# play MODEL PROMPT SPLIT N: scored rows; status 3 (some attempts failed) is accepted. Every step says itself that it
# ends the function: called in a condition, set -e does not.
play() {
	local model=$1 prompt=$2 split=$3 n=$4 out
	out=$run/$split-$model-$(basename "$prompt" .txt)
	[ ! -s "$out.scored.jsonl.zst" ] || return 0
	read -r url key <<<"$(server "$model")"
	[ -z "${BASE_URL:-}" ] || url=$BASE_URL
	local priced=()
	! known | grep -qxF "$model" || priced=(--prices "$prices" --budget "${BUDGET:-5}")
	# shellcheck disable=SC2086 # $GAME is a list of flags
	bin/rollout "$questions" --index "$index" --split "$split" --shuffle --limit "$n" --temperature 0 ${GAME:---tool-format native} \
		--base-url "$url" --model "$model" --api-key-env "$key" --system-prompt "$prompt" --cache "$run/replies" \
		"${priced[@]}" --out "$out.jsonl.zst" || [ $? -eq 3 ] || return
	bin/judge "$out.jsonl.zst" --out "$out.scored.jsonl.zst"
}

passed() { echo "passed over: $1 (its play did not come to an end; the same command goes on with it)" >&2; }

accuracy() { bin/eval "$1" --json | sed -n '/"accuracy": {/,/}/s/.*"value": \([0-9.e-]*\).*/\1/p' | head -1; }

models=("$@")
[ ${#models[@]} -gt 0 ] || mapfile -t models < <(known)
inputs=()
for model in "${models[@]}"; do
	read -r url key <<<"$(server "$model")"
	if [ -z "$url" ] || { [ -z "${!key:-}" ] && [ -z "${BASE_URL:-}" ]; }; then
		echo "passed over: $model (no ${key:-key} in the environment)" >&2
		continue
	fi
	best='' most=-1
	for prompt in "$prompts"/*.txt; do
		play "$model" "$prompt" val "${VAL_N:-50}" || { passed "$model"; continue 2; }
		got=$(accuracy "$run/val-$model-$(basename "$prompt" .txt).scored.jsonl.zst")
		echo "$model, $(basename "$prompt" .txt): $got right on validation" >&2
		if awk "BEGIN { exit !($got > $most) }"; then best=$prompt most=$got; fi
	done
	play "$model" "$best" test "${TEST_N:-200}" || { passed "$model"; continue; }
	name="$model-$(basename "$best" .txt)"
	inputs+=(--name "$name=$run/test-$name.scored.jsonl.zst" --baseline "$name")
done

bin/rollout "$questions" --index "$index" --split test --shuffle --limit "${TEST_N:-200}" --policy heuristic --out "$run/test-heuristic.jsonl.zst"
bin/judge "$run/test-heuristic.jsonl.zst" --out "$run/test-heuristic.scored.jsonl.zst"
if [ ${#inputs[@]} -eq 0 ]; then
	echo "no model could be asked: set OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY, or BASE_URL and name a MODEL" >&2
fi
bin/eval "${inputs[@]}" --name "heuristic=$run/test-heuristic.scored.jsonl.zst" --need "$need" --report "$run/report.html"
