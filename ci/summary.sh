#!/usr/bin/env bash
# Shows what a run found, even if it failed to start: Markdown in GitHub's job summary (elsewhere on standard
# output), and `verdict` and `report` as outputs of the step. Its own exit code is always 0.
#
# PYTHON, DGD_RESULTS, DGD_OPERATOR   as for run.sh
# GITHUB_STEP_SUMMARY, GITHUB_OUTPUT  files named by GitHub
set -euo pipefail

python=${PYTHON:-python3}
results=${DGD_RESULTS:-results}
outputs=${GITHUB_OUTPUT:-/dev/null}

show() {
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat >>"$GITHUB_STEP_SUMMARY"; else cat; fi
}

complaint=$(mktemp)
trap 'rm -f -- "$complaint"' EXIT
if text=$("$python" -m conformance report summary "$results" --outputs "$outputs" 2>"$complaint"); then
  printf '%s\n' "$text" | show
  exit 0
fi

printf 'verdict=none\nreport=\n' >>"$outputs"
{
  operator=$(head -n 1 <<<"${DGD_OPERATOR:-the operator}")
  printf '## ❓ Conformance of %s: no report\n\n' "${operator//[^A-Za-z0-9._\/ -]/}"
  printf 'The run ended before there was anything to report. The end of its log:\n\n'
  # Indented, so that no line of the log can end the block.
  if [ -s "$results/run.log" ]; then tail -n 20 -- "$results/run.log"; else cat -- "$complaint"; fi |
    sed 's/^/    /'
} | show
