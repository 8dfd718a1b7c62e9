#!/usr/bin/env bash
# Runs the suite in a pod, against the cluster that the pod is in. Settings as for ci/run.sh; that the
# cluster may be written to must be said in DGD_ARGS (--i-own-this-cluster), where people read it.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
KUBECONFIG=$(mktemp -d)/kubeconfig
export KUBECONFIG
"$here/kubeconfig.sh" "$KUBECONFIG"
export DGD_CLUSTER=kubeconfig
export DGD_ARGS="--kube-context=in-cluster
${DGD_ARGS:-}"
exec "$here/../run.sh"
