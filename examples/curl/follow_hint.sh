#!/bin/sh
# Checks whether shapes broadcast. If they do not, this sends the first hint that is a complete request. If there is no
# such hint, the exit status is 1:
# follow_hint.sh URL '{"inputs": [[2, 64, 7, 7], [64]]}'
set -eu
ask() { curl -sS --fail-with-body "$1/v1/check" -H 'Content-Type: application/json' -d "$2"; }

answer=$(ask "$1" "$2")
printf '%s\n' "$answer" | jq -r 'if .compatible == false then .conflict.message else "fits: \(.shape)" end'
hint=$(printf '%s\n' "$answer" | jq -c 'first(.conflict.hints[]? | select(.request)) // empty')
if [ -z "$hint" ]; then
    printf '%s\n' "$answer" | jq -e '.compatible != false' >/dev/null
    exit
fi
printf '%s\n' "$hint" | jq -r '"hint: \(.message)"'
ask "$1" "$(printf '%s\n' "$hint" | jq -c .request)" | jq -r '"then: \(.shape)"'
