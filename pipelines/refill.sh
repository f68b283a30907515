#!/usr/bin/env bash
# refill.sh OUT POLICY WANT FIRST SPARE MORE JUDGE -- ROLLOUT...
# Plays WANT questions from FIRST on; where fewer than WANT groups have rewards that differ, plays WANT more from SPARE
# on, and again, at most MORE times. OUT holds all attempts; those of groups without a signal are counted by train
# and teach nothing. Used by loop.mk under REFILL.
set -euo pipefail
out=$1 policy=$2 want=$3 first=$4 spare=$5 more=$6 judge=$7
shift 8
parts=()
found=0
for ((i = 0; i <= more; i++)); do
	part=$out.part-$i.jsonl.zst
	if [ ! -f "$part" ]; then # else it is from before an interruption
		status=0
		"$@" --offset $((i == 0 ? first : spare + (i - 1) * want)) --limit "$want" --out "$part" || status=$?
		if [ $status -ne 0 ] && [ $status -ne 3 ]; then # 3: some attempts failed, within the limits
			[ "$i" -gt 0 ] && [ $status -eq 1 ] && break # no more questions
			exit $status
		fi
	fi
	parts+=("$part")
	$judge "$part" --out "$out.scored-$i.jsonl.zst"
	new=$(bin/train "$out.scored-$i.jsonl.zst" --policy "$policy" --dry-run --log-level error | sed -n 's/^groups .*: \([0-9]*\) with a signal.*/\1/p') || true
	found=$((found + ${new:-0}))
	echo "refill: $found of $want groups have a signal" >&2
	[ "$found" -ge "$want" ] && break
done
cat "${parts[@]}" >"$out.tmp" # frames of zstd follow each other
mv "$out.tmp" "$out"
rm -f "$out".part-* "$out".scored-*
