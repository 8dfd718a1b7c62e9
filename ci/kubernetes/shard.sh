#!/usr/bin/env bash
# Entry point of a pod of the Indexed Job: runs the shard of its index and packs the results into a tarball.
#
# JOB_COMPLETION_INDEX   set by Kubernetes, from 0
# DGD_SHARDS             number of shards, equal to the Job's completions
# DGD_PLACE              folder for the results (/results): shard-I.tar.gz, and shard-I.code with the exit code
# DGD_HOLD_SECONDS       if that folder goes with the pod: seconds to wait until collect.sh has fetched the
#                        tarball and written shard-I.collected (0: do not wait)
# SUITE                  script that runs the suite (in-cluster.sh; settings as there)
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=ci/signals.sh
. "$here/../signals.sh"
place=${DGD_PLACE:-/results}
shard=$((${JOB_COMPLETION_INDEX:?"is set in the pods of an Indexed Job"} + 1))
name=shard-$shard

rm -rf -- "${place:?}/$name" "$place/$name".*
export DGD_SHARD=$shard/${DGD_SHARDS:?"set it to the completions of the Job"}
export DGD_RESULTS=$place/$name
code=0
run_with TERM "${SUITE:-$here/in-cluster.sh}" || code=$?

mkdir -p -- "$place/$name"
tar -C "$place" -czf "$place/$name.part" "$name"
mv -- "$place/$name.part" "$place/$name.tar.gz"
rm -rf -- "${place:?}/$name"
# Last, because this file says that the tarball is complete.
echo "$code" >"$place/$name.code"

seconds=${DGD_HOLD_SECONDS:-0}
while [ "$seconds" -gt 0 ] && [ ! -e "$place/$name.collected" ]; do
  sleep 1
  seconds=$((seconds - 1))
done
exit "$code"
