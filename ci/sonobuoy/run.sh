#!/usr/bin/env bash
# Entry point of the Sonobuoy plugin. Sonobuoy's contract: results are in SONOBUOY_RESULTS_DIR. At the very
# end, whatever happened, a file `done` there holds the path of the tarball to send, with junit.xml in it.
# Meanwhile, progress goes to the worker container beside this one.
#
# SONOBUOY_RESULTS_DIR     as Sonobuoy sets it (/tmp/sonobuoy/results)
# SONOBUOY_PROGRESS_PORT   where the worker listens for progress; unset: no progress is reported
# SUITE                    script that runs the suite (in-cluster.sh; settings as there)
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
  # Sonobuoy counts test cases: a run that never reached one must count as a failure, not as nothing.
  [ -s "$DGD_RESULTS/junit.xml" ] || cat >"$DGD_RESULTS/junit.xml" <<'END'
<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" tests="1" errors="1" failures="0" skipped="0"><testcase classname="conformance" name="run"><error message="the run ended before any case; run.log says why"/></testcase></testsuite></testsuites>
END
  tar -C "$DGD_RESULTS" -czf "$place/dgd-conformance.tar.gz" .
  # The worker sends the named file at once, so the tarball must be complete.
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
