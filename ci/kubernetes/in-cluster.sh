#!/usr/bin/env bash
# Runs the suite in a pod, against the cluster of that pod. Settings are those of ci/run.sh. Permission to write
# to the cluster (--i-own-this-cluster) belongs in DGD_ARGS, where people can read it.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
KUBECONFIG=$(mktemp -d)/kubeconfig
export KUBECONFIG
"$here/kubeconfig.sh" "$KUBECONFIG"
export DGD_CLUSTER=kubeconfig
export DGD_ARGS="--kube-context=in-cluster
${DGD_ARGS:-}"
exec "$here/../run.sh"
