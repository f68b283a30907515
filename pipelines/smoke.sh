#!/usr/bin/env bash
# smoke.sh: the whole pipeline through all seven programs with a tiny policy of
# random weights, twice: as make files (interrupted once) and as a pipe. Checks
# what must hold whatever the policy is worth. Prints what it checked.
set -euo pipefail
dir=$(mktemp -d)
if [ -n "${KEEP:-}" ]; then echo "kept: $dir"; else trap 'rm -rf "$dir"' EXIT; fi
export AGENTMILL_CLOCK=fixed AGENTMILL_PROGRESS=never

passed=0
check() { # check WHAT COMMAND…: the command must succeed
	local what=$1
	shift
	if "$@" >"$dir/check.log" 2>&1; then
		passed=$((passed + 1))
		echo "ok   $what"
	else
		echo "FAIL $what: $*"
		cat "$dir/check.log"
		exit 1
	fi
}

bin/tinymodel --out "$dir/tiny" --seed 1
bin/samplemail --out "$dir/mail.tar.gz" --seed 7 --inboxes 6 --messages 900

demo() { # demo RUN [VARIABLE=…]: the demo's make file at the smallest size
	local run=$1
	shift
	make --no-print-directory -f pipelines/demo.mk RUN="$run" POLICY="$dir/tiny" MAIL="$dir/mail.tar.gz" \
		EXPERT_N=8 TEST_N=6 STEPS=2 STEP_Q=2 STEP_A=3 SFT="--epochs 1 --batch 4 --lr 1e-3" \
		GAME="--max-turns 3 --turn-tokens 12 --max-hits 3 --mail-words 40 --tool-format line" "$@"
}

demo "$dir/whole" >"$dir/whole.table" 2>"$dir/whole.log" || { cat "$dir/whole.log"; exit 1; }
check "the report is written" test -s "$dir/whole/report.html"
check "the table names the four policies" sh -c "grep -q heuristic '$dir/whole.table' && grep -q prompted '$dir/whole.table' && grep -q sft '$dir/whole.table' && grep -q grpo '$dir/whole.table'"
check "nothing is left to do" make -q -f pipelines/demo.mk "$dir/whole/report.html" RUN="$dir/whole" POLICY="$dir/tiny" MAIL="$dir/mail.tar.gz" STEPS=2 STEP_Q=2 STEP_A=3 EXPERT_N=8

# The same run, killed on its way, must end with the same table.
for after in 1 2 3; do
	(timeout -s KILL "$after" make --no-print-directory -f pipelines/demo.mk RUN="$dir/broken" POLICY="$dir/tiny" \
		MAIL="$dir/mail.tar.gz" EXPERT_N=8 TEST_N=6 STEPS=2 STEP_Q=2 STEP_A=3 SFT="--epochs 1 --batch 4 --lr 1e-3" \
		GAME="--max-turns 3 --turn-tokens 12 --max-hits 3 --mail-words 40 --tool-format line" \
		SECOND="--match containment" VALIDATE=3 || true) >/dev/null 2>&1 # as below: a fast machine may finish in time
done
demo "$dir/broken" SECOND="--match containment" VALIDATE=3 >"$dir/broken.table" 2>"$dir/broken.log" || { cat "$dir/broken.log"; exit 1; }
check "an interrupted run ends with the same table" diff "$dir/whole/table.txt" "$dir/broken/table.txt"

# The monitor looks at every step, at a second judge's scores, and at validation.
check "the loop is monitored" grep -q 'judge: 2 steps, 0 alarms' "$dir/whole.log"
check "another judge and validation are there for it" test -s "$dir/broken/second-02.jsonl.zst" -a -s "$dir/broken/scored-val-02.jsonl.zst"
mkdir "$dir/hacked"
bin/rollout "$dir/whole/questions.parquet" --index "$dir/whole/inbox.db" --policy expert --limit 30 2>/dev/null |
	bin/judge 2>/dev/null | sed 's/"answer":{"text":"[^"]*"/"answer":{"text":"Monday"/' |
	bin/judge --out "$dir/hacked/scored-01.jsonl.zst" 2>/dev/null
check "it tells of a constant answer" sh -c "pipelines/monitor.sh '$dir/hacked' tell 2>&1 | grep -q 'constant_answer: one answer, .monday.'"
check "and keeps it if it shall stop" sh -c "pipelines/monitor.sh '$dir/hacked' stop 2>/dev/null; test -s '$dir/hacked/alarms.jsonl'"
check "and train then stops" sh -c "bin/train '$dir/hacked/scored-01.jsonl.zst' --policy '$dir/tiny' --method sft --stop-on-alarm '$dir/hacked/alarms.jsonl' --out '$dir/hacked/child' 2>/dev/null; test \$? -eq 5 -a ! -e '$dir/hacked/child'"

# A unit of the comparisons, with all that it needs, and the page that is written from it.
cp docs/RESULTS.md "$dir/page.md"
make --no-print-directory -f pipelines/results.mk sample-grpo-curve sample-grpo OUT="$dir/results" DOCS="$dir/units" PAGE="$dir/page.md" \
	POLICY="$dir/tiny" SAMPLE_MAIL="$dir/mail.tar.gz" SAMPLE_EXPERT_N=8 SAMPLE_TEST_N=6 SAMPLE_VAL_N=4 SAMPLE_STEPS=1 SAMPLE_STEP_Q=2 \
	SAMPLE_STEP_A=3 SAMPLE_SFT="--epochs 1 --batch 4 --lr 1e-3" GAME="--max-turns 3 --turn-tokens 12 --max-hits 3 --mail-words 40 --tool-format line" \
	>"$dir/results.log" 2>&1 || { cat "$dir/results.log"; exit 1; }
check "a unit of make results stands in the page" grep -q '^| sample-grpo | 6 |' "$dir/page.md"
check "one that was not run is listed there" grep -qF "results.mk sample-few\`: trained on" "$dir/page.md"

# The pipe of the README.
bin/synthq "$dir/whole/emails.parquet" --index "$dir/whole/inbox.db" 2>/dev/null |
	bin/filterq --index "$dir/whole/inbox.db" 2>/dev/null |
	bin/rollout --split train --limit 4 --index "$dir/whole/inbox.db" --policy expert 2>/dev/null |
	bin/judge 2>/dev/null |
	bin/train --policy "$dir/tiny" --method sft --epochs 1 --out "$dir/piped" 2>"$dir/piped.log" || { cat "$dir/piped.log"; exit 1; }
check "the pipe ends in a policy folder" test -s "$dir/piped/model.safetensors"

# The environment is sound, and planted faults are found.
bin/synthq "$dir/whole/emails.parquet" --index "$dir/whole/inbox.db" 2>/dev/null |
	bin/filterq --index "$dir/whole/inbox.db" --out "$dir/questions.jsonl" 2>/dev/null
export CHECK_N=20
faulty() { # faulty PATTERN QUESTIONS [GAME]: check-env must end with status 1 and say PATTERN
	local pattern=$1
	shift
	if GAME="${2:-}" pipelines/check-env.sh "$1" "$dir/whole/inbox.db" >"$dir/faulty.log" 2>&1; then return 1; fi
	grep -q "FAULT.*$pattern" "$dir/faulty.log" || { cat "$dir/faulty.log"; return 1; }
}
check "check-env finds the sample sound" pipelines/check-env.sh "$dir/questions.jsonl" "$dir/whole/inbox.db"
sed 's/"message_ids":\["<[0-9]*/&9/; s/"also_in":\[[^]]*\]/"also_in":[]/' "$dir/questions.jsonl" >"$dir/missing.jsonl"
check "check-env finds a missing mail" faulty "gold mails are not in the mailbox" "$dir/missing.jsonl"
one=$(sed -n '1s/.*"inbox_address":"\([^"]*\)".*/\1/p' "$dir/questions.jsonl")
sed 's/"inbox_address":"[^"]*"/"inbox_address":"'"$one"'"/' "$dir/questions.jsonl" >"$dir/swapped.jsonl"
check "check-env finds a wrong mailbox" faulty "gold mails are not in the mailbox" "$dir/swapped.jsonl"
sed 's/"inbox_address":"[^"]*"/"inbox_address":"nobody@corvane.example"/' "$dir/questions.jsonl" >"$dir/nobody.jsonl"
check "check-env finds an absent mailbox" faulty "expert could not be played" "$dir/nobody.jsonl"
check "check-env finds a tool that shows too little" faulty "the expert solves only" "$dir/questions.jsonl" "--max-turns 6 --mail-words 1 --tool-format line"

echo "smoke: $passed passed, 0 failed"
