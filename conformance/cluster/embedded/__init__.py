"""`--cluster=embedded`: a control plane of processes on loopback."""

from conformance.cluster.embedded.cluster import EmbeddedCluster

__all__ = ["EmbeddedCluster"]
