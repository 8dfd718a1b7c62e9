"""`--cluster=kubeconfig`: the user's own cluster, which was there before the run and stays after it."""

from conformance.cluster.kubeconfig.cluster import KubeconfigCluster
from conformance.cluster.kubeconfig.contexts import CONTEXT_OPTION, KubeconfigOptions

__all__ = ["CONTEXT_OPTION", "KubeconfigCluster", "KubeconfigOptions"]
