"""A kind cluster for a run: `KindPlane`, its options, and what earlier runs left behind."""

from __future__ import annotations

from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.options import KindOptions, Tools, find_tools
from conformance.cluster.kind.places import Leftover, leftovers, sweep
from conformance.cluster.kind.plane import KindPlane

__all__ = [
    "Docker",
    "KindOptions",
    "KindPlane",
    "Leftover",
    "Tools",
    "find_tools",
    "leftovers",
    "sweep",
]
