#!/usr/bin/env bash
# Installs the wheel for this machine into a fresh virtual environment and uses it as
# somebody would who has no Go: release/try.sh. Needs python3, and bwrap for the
# programs of the small benchmark. Under a minute.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
work="$(mktemp -d)"
fleet=
end() {
  if [ -n "$fleet" ]; then
    kill "$fleet" 2>/dev/null || true
    wait "$fleet" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap end EXIT

say() { printf '%s\n' "-- $*"; }

# The wheel, in an environment whose PATH has no go.
install() {
  (cd "$root" && go run ./release --to "$work/dist" --only host)
  (cd "$work/dist" && sha256sum --quiet --check checksums.txt)
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --no-index "$work"/dist/*.whl
  mkdir "$work/tools" # of this script, and what the program calls
  for tool in bash bwrap cat env grep kill mkdir python3 rm sed seq sleep; do
    ln -s "$(command -v "$tool")" "$work/tools/$tool"
  done
  PATH="$work/venv/bin:$work/tools"
  export PATH
  if command -v go >/dev/null; then
    say 'there is a go in the PATH'
    return 1
  fi
}

# The program and the package are of one version.
versions() {
  local program package
  program="$(speceval version --json | sed -n 's/.*"version": *"v\([^"]*\)".*/\1/p')"
  package="$(python -c 'import importlib.metadata, speceval
version = importlib.metadata.version("speceval")
assert getattr(speceval, "__version__", version) == version, speceval.__version__
print(version)')"
  speceval version
  [ "$program" = "$package" ]
}

# Simulated servers for the small benchmark, on free ports.
serve() {
  local ports
  ports="$(python -c 'import socket
held = [socket.socket() for _ in range(9)]
for s in held: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))')"
  cp_config "$ports"
  speceval fleet --config small.toml --speed 100 >fleet.log 2>&1 &
  fleet=$!
  for _ in $(seq 100); do
    grep -q 'serving; interrupt to stop' fleet.log && return
    sleep 0.1
  done
  cat fleet.log
  return 1
}

# cp_config is experiments-small.toml with other ports.
cp_config() {
  local text port i=0
  text="$(cat "$root/experiments-small.toml")"
  for port in $1; do
    text="${text//127.0.0.1:820$i/127.0.0.1:$port}"
    i=$((i + 1))
  done
  printf '%s\n' "$text" >small.toml
}

# One number from the small benchmark, of exactly 60 times 8 rollouts.
evaluate() {
  local said
  said="$(speceval evaluate --config small.toml --benchmark smallbench --model qwen2_5_3b --budget 8)"
  printf '%s\n' "$said"
  case "$said" in *' 480 of 60 tasks'*) ;; *) return 1 ;; esac
}

# In a harness, from the installed package: a loop of one's own, and where
# $SPECEVAL_INSPECT names an environment with inspect_ai, the Inspect line of the README.
harness() {
  python "$root/python/tests/test_client.py"
  if [ -n "${SPECEVAL_INSPECT:-}" ]; then
    PYTHONPATH="$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" SPECEVAL_PROGRAM="$(command -v speceval)" \
      "$SPECEVAL_INSPECT/bin/python" "$root/python/tests/test_inspect.py" InInspect.test_exactly_the_budget_runs InInspect.test_an_earlier_log_is_known InInspect.test_a_log_is_scored_again_by_the_command
  fi
}

say 'the wheel'
install
cd "$work"
say 'its versions'
versions
say 'simulated servers, and an evaluation'
serve
evaluate
harness
say 'installed and used'
