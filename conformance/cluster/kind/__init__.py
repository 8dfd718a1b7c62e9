"""`--cluster=kind`: a kind cluster, its options, and what earlier runs left behind."""

from conformance.cluster.kind.cluster import KindCluster
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.options import KindOptions, Tools, find_tools

__all__ = ["Docker", "KindCluster", "KindOptions", "Tools", "find_tools"]
