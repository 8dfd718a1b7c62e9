"""Operators in the cluster: installed as they ship, in pods, under their own ServiceAccount."""

from __future__ import annotations

from conformance.cluster.nodes import RealNodes
from conformance.operator.pods.control import PodControl, attach
from conformance.operator.pods.install import adopt_in_pods, install_in_pods
from conformance.operator.pods.operator import PodOperator

__all__ = [
    "PodControl",
    "PodOperator",
    "RealNodes",
    "adopt_in_pods",
    "attach",
    "install_in_pods",
]
