#!/usr/bin/env bash
# monitor.sh RUN tell|stop: looks for signs of hacking in the steps of RUN so far: scored-NN, beside them second-NN (the
# same attempts to another judge) and scored-val-NN (play on validation questions). tell: alarms are shown and the loop
# goes on; stop: they end it with status 5. Used by loop.mk before a step is trained on.
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
[ "$status" -eq 5 ] && [ "$mode" = tell ] && exit 0
exit "$status"
