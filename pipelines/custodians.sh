#!/usr/bin/env bash
# custodians.sh QUESTIONS: the mailbox folders of the questions' inboxes, one a
# line, by Enron's rule: first.last@enron.com has the folder last-f.
set -euo pipefail
case $1 in
*.gz) gzip -dc "$1" ;;
*) cat "$1" ;;
esac |
	grep -oE '"inbox_address": *"[^"]+"' |
	sed -E 's/.*"([^"]+)"$/\1/' | sort -u |
	sed -nE 's/^([a-z])[a-z]*\.([a-z]+)@.*$/\2-\1/p'
