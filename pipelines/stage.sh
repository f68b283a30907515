#!/bin/sh
# stage.sh TITLE COMMAND [ARG...]: says what runs, runs it, says how long it took.
# Status 3 (partial: the output is whole, some records failed within the limits)
# counts as done; every other status is passed on.
set -u
title=$1
shift
printf '\n== %s\n' "$title" >&2
start=$(date +%s)
"$@"
status=$?
took=$(($(date +%s) - start))
case $status in
0) printf '   done in %s s\n' "$took" >&2 ;;
3) printf '   done in %s s; some records failed, within the limits\n' "$took" >&2 && status=0 ;;
*) printf '   stopped with status %s after %s s; the same command goes on from here\n' "$status" "$took" >&2 ;;
esac
exit $status
