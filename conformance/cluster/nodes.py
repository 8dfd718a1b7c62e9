"""Real and simulated nodes of one cluster, and how pods find the real ones. Those of graphs name images
that exist nowhere, so a real node carries a taint. What must run there tolerates it *and* asks for that
node: tolerating alone would let the scheduler choose a simulated one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.model.labels import REAL_NODE

TAINT: Mapping[str, str] = {"key": REAL_NODE, "effect": "NoSchedule"}
TOLERATION: Mapping[str, str] = {"key": REAL_NODE, "operator": "Exists", "effect": "NoSchedule"}
NODE_SELECTOR: Mapping[str, str] = {REAL_NODE: "true"}

SIMULATED = ("type", "kwok")
"""Label and value of the simulated nodes."""

FAKE_NODES = "kwok.x-k8s.io/node=fake"
"""The annotation of simulated nodes, as KWOK's selector wants it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealNodes:
    """How pods find the nodes that run containers, among nodes that only simulate it."""

    taint: str = REAL_NODE
    """Key of the taint (NoSchedule) that keeps the graphs' pods off the real nodes."""
    simulated: tuple[str, str] = SIMULATED
    """Label and value of the simulated nodes."""


def on_real_node(pod_spec: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a pod's spec that runs on the real node, and only there."""
    others = [each for each in pod_spec.get("tolerations") or () if each != TOLERATION]
    selector = {**(pod_spec.get("nodeSelector") or {}), **NODE_SELECTOR}
    return {**pod_spec, "tolerations": [*others, dict(TOLERATION)], "nodeSelector": selector}
