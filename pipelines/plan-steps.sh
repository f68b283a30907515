#!/usr/bin/env bash
# plan-steps.sh RUN STEPS MOST: how many GRPO steps this machine has time for, from the
# speed at which supervised fine-tuning went; written once to RUN/steps, so that a
# run taken up again makes the same steps. FLOOR is the speed that STEPS is meant for; a
# faster machine makes more steps, up to MOST.
set -euo pipefail
run=$1 steps=$2 most=$3 floor=${FLOOR:-200}
[ -s "$run/steps" ] && exit 0
rate=$(bin/train --rate "$run/policy-00")
planned=$(awk -v rate="$rate" -v steps="$steps" -v floor="$floor" -v most="$most" 'BEGIN {
	n = rate <= 0 ? steps : int(steps * rate / floor)
	if (n < 1) n = 1
	if (n > most) n = most
	print n
}')
if [ "$planned" -lt "$steps" ]; then
	printf '\nThis machine trains %s tokens a second, fewer than %s: %s GRPO steps instead of %s.\n' "$rate" "$floor" "$planned" "$steps" >&2
fi
echo "$planned" >"$run/steps.tmp" && mv "$run/steps.tmp" "$run/steps"
