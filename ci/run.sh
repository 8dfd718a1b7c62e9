#!/usr/bin/env bash
# Runs the suite for a CI: report, histories, JUnit XML, Allure results and the log are in one folder, and the
# exit code is pytest's. All settings come from the environment; an empty variable counts as unset.
#
# PYTHON          interpreter that has the suite (python3)
# DGD_OPERATOR    operators under test, names or profiles, one per line; required
# DGD_BINARY, DGD_CRDS, DGD_IMAGE, DGD_CHART   --operator-binary and so on, if the profile needs them
# DGD_CLUSTER     auto, embedded, kind or kubeconfig
# DGD_KUBERNETES  for kind: a minor version (1.36), or the reference of a node image
# DGD_SELECT      cases to run, as for pytest's -k
# DGD_SHARD       i/n; by default GitLab's CI_NODE_INDEX/CI_NODE_TOTAL, if the job has them
# DGD_WORKERS     cases at a time (14; they mostly wait)
# DGD_RESULTS     results folder (results)
# DGD_ARGS        further arguments for pytest, one per line
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=ci/signals.sh
. "$root/ci/signals.sh"
python=${PYTHON:-python3}
results=${DGD_RESULTS:-results}

usage() {
  echo "error: $*" >&2
  exit 4
}

[ -n "${DGD_OPERATOR:-}" ] || usage "no operator is named; set DGD_OPERATOR to a profile's name or path"

"$python" -c 'import conformance, xdist' >/dev/null 2>&1 ||
  usage "$python does not have the suite; set PYTHON to VENV/bin/python after ci/install.sh VENV"

if [ -d "$root/cases" ]; then args=("$root/cases"); else args=(--pyargs conformance.shipped.cases); fi
args+=(-p no:cacheprovider -n "${DGD_WORKERS:-14}" "--results=$results")
args+=("--junit-xml=$results/junit.xml" "--alluredir=$results/allure-results")

while IFS= read -r operator; do
  [ -z "$operator" ] || args+=("--operator=$operator")
done <<<"$DGD_OPERATOR"

option() { [ -z "$2" ] || args+=("$1=$2"); }
option --operator-binary "${DGD_BINARY:-}"
option --operator-crds "${DGD_CRDS:-}"
option --operator-image "${DGD_IMAGE:-}"
option --operator-chart "${DGD_CHART:-}"
option --cluster "${DGD_CLUSTER:-}"

if [ -n "${DGD_KUBERNETES:-}" ]; then
  [ "${DGD_CLUSTER:-}" = kind ] || usage "DGD_KUBERNETES=$DGD_KUBERNETES needs DGD_CLUSTER=kind: the" \
    "embedded control plane has one pinned version, and a cluster of your own has its own"
  case $DGD_KUBERNETES in
    *[:/]*) option --kind-image "$DGD_KUBERNETES" ;;
    *) option --kubernetes-version "${DGD_KUBERNETES#v}" ;;
  esac
fi

shard=${DGD_SHARD:-}
if [ -z "$shard" ] && [ -n "${CI_NODE_INDEX:-}" ]; then shard=$CI_NODE_INDEX/${CI_NODE_TOTAL:-1}; fi
option --shard "$shard"
[ -z "${DGD_SELECT:-}" ] || args+=(-k "$DGD_SELECT")
while IFS= read -r argument; do
  [ -z "$argument" ] || args+=("$argument")
done <<<"${DGD_ARGS:-}"

mkdir -p -- "$results"
exec 3> >(exec tee -i -- "$results/run.log")
tee=$!
# SIGTERM would end pytest at once. After SIGINT (Ctrl-C) it closes what is open and writes the report of
# what is known.
code=0
run_with INT "$python" -m pytest "${args[@]}" >&3 2>&1 3>&- || code=$?
exec 3>&-
wait "$tee" || true
exit "$code"
