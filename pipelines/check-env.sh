#!/usr/bin/env bash
# check-env.sh QUESTIONS INDEX [FOLDER …]: is the environment worth training in?
# Plays the expert, four policies that know nothing, every policy folder named,
# and with BASE_URL=… SERVED=NAME the model NAME of a server, on 50 questions, shows what the tools said to each, and ends with status
# 1 where a gold mail is missing, the expert cannot solve what it should, a right
# answer is not paid, or a null policy is. Run it before the first training step.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: pipelines/check-env.sh QUESTIONS INDEX [FOLDER ...]" >&2; exit 2; }
questions=$1 index=$2
shift 2
n=${CHECK_N:-50}
game=${GAME:---max-turns 6 --turn-tokens 48 --max-hits 5 --mail-words 150 --tool-format line}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

faults=0
fault() {
	faults=$((faults + 1))
	echo "FAULT $*"
}

play() { # play NAME FLAG…: rows, verdicts and what was said on the way
	local name=$1 status=0
	shift
	# shellcheck disable=SC2086 # $game is a list of flags
	bin/rollout "$questions" --index "$index" $game --shuffle --limit "$n" --temperature 0 "$@" \
		--out "$dir/rows-$name.jsonl" --progress never 2>"$dir/$name.log" || status=$?
	if [ $status -ne 0 ] && [ $status -ne 3 ]; then # 3: some attempts failed, within the limits
		cat "$dir/$name.log"
		fault "$name could not be played"
		return 0
	fi
	if [ -s "$dir/rows-$name.jsonl" ]; then
		bin/judge "$dir/rows-$name.jsonl" --out "$dir/$name.jsonl" 2>>"$dir/$name.log" || { cat "$dir/$name.log"; fault "$name could not be judged"; }
	fi
	sed 's/^rollout: //; s/^/  /' "$dir/$name.log"
}

gate() { # gate NAME CONDITION WHAT
	[ -s "$dir/$1.jsonl" ] || { fault "$1 played nothing"; return 0; }
	bin/eval --name "$1=$dir/$1.jsonl" --gate "$2" >/dev/null 2>"$dir/gate.log" || fault "$3 ($(sed 's/^eval: //' "$dir/gate.log"))"
}

names=(expert null-abstain null-empty null-paste null-repeat)
for name in "${names[@]}"; do
	echo "== $name"
	play "$name" --policy "$name"
done
for folder; do
	name=$(basename "$folder")
	echo "== $folder"
	play "$name" --policy "$folder"
	names+=("$name")
done
if [ -n "${BASE_URL:-}" ]; then
	echo "== ${SERVED:?is missing: want the name of the model behind BASE_URL}"
	play served --base-url "$BASE_URL" --model "$SERVED"
	names+=(served)
fi

said() { grep -q "$1" "$dir/expert.log"; }
rows() { if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi; }
said 'whose mailbox the index does not hold' && fault "questions name mailboxes that the index does not hold"
said 'a gold mail is not in the mailbox' && fault "gold mails are not in the mailbox of their question"
solved=$(rows "$dir/rows-expert.jsonl") asked=$(rows "$dir/rows-null-abstain.jsonl")
[ $((10 * solved)) -ge $((9 * asked)) ] || fault "the expert solves only $solved of $asked questions"
gate expert 'accuracy.value == 1 && sources_correct.value == 1' "the gold answer with its sources is not judged right"
for name in null-abstain null-empty null-paste null-repeat; do
	gate "$name" 'answerable.value == 0 && reward_answerable.value < 0.1001' "$name is paid"
done

inputs=()
for name in "${names[@]}"; do
	[ ! -s "$dir/$name.jsonl" ] || inputs+=(--name "$name=$dir/$name.jsonl")
done
echo
[ ${#inputs[@]} -eq 0 ] || bin/eval "${inputs[@]}" --tools 2>&1 | sed '/^Intervals are/,$d'
if [ "$faults" -gt 0 ]; then
	echo "check-env: $faults faults"
	exit 1
fi
echo "check-env: $asked questions, the expert solves $solved, no fault"
