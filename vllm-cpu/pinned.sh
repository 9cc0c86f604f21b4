#!/usr/bin/env bash
# Prints what requirements.txt says of one package: its version and its hashes.
set -euo pipefail
awk -v name="$1==" 'index($0, name) == 1 { on = 1 } on { print } on && !/\\$/ { exit }' "$(dirname "$0")/requirements.txt"
