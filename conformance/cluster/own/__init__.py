"""A cluster that is not the suite's own: `--cluster=kubeconfig`."""

from __future__ import annotations

from conformance.cluster.own.options import CONTEXT_OPTION, OwnClusterOptions
from conformance.cluster.own.plane import OwnClusterPlane
from conformance.cluster.own.rights import Right

__all__ = ["CONTEXT_OPTION", "OwnClusterOptions", "OwnClusterPlane", "Right"]
