#!/usr/bin/env bash
# monitor.sh RUN tell|stop: looks for signs of hacking in the steps of RUN so far: scored-NN, beside them second-NN (the
# same attempts to another judge) and scored-val-NN (play on validation questions). Alarms are shown; stop: they are kept
# in RUN/alarms.jsonl too (empty without one), for train --stop-on-alarm. Used by loop.mk before a step is trained on.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: pipelines/monitor.sh RUN tell|stop" >&2; exit 2; }
run=$1 mode=$2
case $mode in
tell | stop) ;;
*) echo "monitor.sh: MONITOR is $mode: want tell, stop or 0" >&2 && exit 2 ;;
esac
mapfile -t steps < <(find "$run" -maxdepth 1 -name 'scored-[0-9]*.jsonl.zst' | sort -V)
flags=()
while read -r file; do flags+=(--second "$file"); done < <(find "$run" -maxdepth 1 -name 'second-[0-9]*.jsonl.zst' | sort -V)
while read -r file; do flags+=(--validation "$file"); done < <(find "$run" -maxdepth 1 -name 'scored-val-*.jsonl.zst' | sort -V)
status=0
bin/judge --monitor "${steps[@]}" "${flags[@]}" >&2 || status=$?
[ "$status" -eq 0 ] || [ "$status" -eq 5 ] || exit "$status"
[ "$mode" = stop ] || exit 0
: >"$run/alarms.jsonl.tmp"
[ "$status" -eq 0 ] || bin/judge --monitor "${steps[@]}" "${flags[@]}" --json >"$run/alarms.jsonl.tmp" 2>/dev/null || [ $? -eq 5 ]
mv "$run/alarms.jsonl.tmp" "$run/alarms.jsonl"
