#!/usr/bin/env bash
# What the Sonobuoy plugin runs. The contract: results in SONOBUOY_RESULTS_DIR, and at the very end,
# whatever happened, a file `done` there that holds the path of what is to be sent: a tarball with
# junit.xml. On the way, progress to the worker beside it.
#
# SONOBUOY_RESULTS_DIR     as Sonobuoy sets it (/tmp/sonobuoy/results)
# SONOBUOY_PROGRESS_PORT   where the worker listens for progress; unset: nothing is told
# SUITE                    what runs the suite (in-cluster.sh; settings as there)
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=ci/signals.sh
. "$here/../signals.sh"
place=${SONOBUOY_RESULTS_DIR:-/tmp/sonobuoy/results}
work=$(mktemp -d)
export DGD_RESULTS=$work/results
telling=

# shellcheck disable=SC2329  # It is the trap.
finish() {
  trap - EXIT
  [ -z "$telling" ] || kill "$telling" 2>/dev/null || true
  mkdir -p -- "$place" "$DGD_RESULTS"
  # Sonobuoy counts test cases: a run that never came to one must count as a failure, not as nothing.
  [ -s "$DGD_RESULTS/junit.xml" ] || cat >"$DGD_RESULTS/junit.xml" <<'END'
<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" tests="1" errors="1" failures="0" skipped="0"><testcase classname="conformance" name="run"><error message="the run ended before any case; run.log says why"/></testcase></testsuite></testsuites>
END
  tar -C "$DGD_RESULTS" -czf "$place/dgd-conformance.tar.gz" .
  # The worker sends at once what the file names, so it must be there whole.
  printf '%s' "$place/dgd-conformance.tar.gz" >"$place/.done"
  mv -- "$place/.done" "$place/done"
  rm -rf -- "$work"
}
trap finish EXIT

if [ -n "${SONOBUOY_PROGRESS_PORT:-}" ]; then
  "${PYTHON:-python3}" "$here/progress.py" "$DGD_RESULTS" "$SONOBUOY_PROGRESS_PORT" &
  telling=$!
fi
code=0
run_with TERM "${SUITE:-$here/../kubernetes/in-cluster.sh}" || code=$?
exit "$code"
