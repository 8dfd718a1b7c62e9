"""`--cluster=embedded`: a control plane of processes on loopback."""

from __future__ import annotations

from conformance.cluster.embedded.cluster import EmbeddedCluster

__all__ = ["EmbeddedCluster"]
