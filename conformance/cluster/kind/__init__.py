"""A kind cluster for a run: `KindCluster`, its options, and what earlier runs left behind."""

from __future__ import annotations

from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.kind_cluster import KindCluster
from conformance.cluster.kind.options import KindOptions, Tools, find_tools
from conformance.cluster.kind.places import Leftover, leftovers, sweep

__all__ = [
    "Docker",
    "KindCluster",
    "KindOptions",
    "Leftover",
    "Tools",
    "find_tools",
    "leftovers",
    "sweep",
]
