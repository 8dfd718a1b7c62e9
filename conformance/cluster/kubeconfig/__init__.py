"""A cluster that is not the suite's own: `--cluster=kubeconfig`."""

from __future__ import annotations

from conformance.cluster.kubeconfig.kubeconfig_cluster import KubeconfigCluster
from conformance.cluster.kubeconfig.options import CONTEXT_OPTION, KubeconfigOptions
from conformance.cluster.kubeconfig.rights import Right

__all__ = ["CONTEXT_OPTION", "KubeconfigCluster", "KubeconfigOptions", "Right"]
