#!/usr/bin/env bash
# What a pod of the Indexed Job runs: the shard of its index, whose results it leaves as a tarball.
#
# JOB_COMPLETION_INDEX   set by Kubernetes, from 0
# DGD_SHARDS             number of shards: the Job's completions
# DGD_PLACE              where results go (/results): shard-I.tar.gz, and shard-I.code with the exit code
# DGD_HOLD_SECONDS       where that place goes with the pod: how long to wait until collect.sh has
#                        fetched the tarball and written shard-I.collected (0: do not wait)
# SUITE                  what runs the suite (in-cluster.sh; settings as there)
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
# Last: it says that the tarball is whole.
echo "$code" >"$place/$name.code"

seconds=${DGD_HOLD_SECONDS:-0}
while [ "$seconds" -gt 0 ] && [ ! -e "$place/$name.collected" ]; do
  sleep 1
  seconds=$((seconds - 1))
done
exit "$code"
