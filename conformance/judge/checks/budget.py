"""How many ready pods a service must keep while it changes: by the workloads' own strategies.

Deployment: spec.strategy, defaults RollingUpdate 25 %/25 % (maxUnavailable rounded down, maxSurge
up; both 0 means maxUnavailable 1). LeaderWorkerSet: rolloutStrategy, default maxUnavailable 1, in
groups. Sources: the API reference of both kinds.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from typing import Any

from conformance.history.records import Step
from conformance.judge.checks.family import Place
from conformance.model.graph import Graph, Service
from conformance.model.kinds import DEPLOYMENT, LWS, WORKLOADS
from conformance.model.state import Obj


class Touch(enum.StrEnum):
    """What a step does to one service."""

    SHAPE = "multinode or node count"
    TEMPLATE = "pod template"
    REPLICAS = "replicas"
    ADDED = "added"
    REMOVED = "removed"
    COMPONENT = "component edited"


def touched(steps: Iterable[Step]) -> dict[Place, set[Touch]]:
    """What these steps do to which services; services that are not in it are not touched."""
    found: dict[Place, set[Touch]] = {}
    for step in steps:
        graph = step.after or step.before
        if graph is None:
            continue
        for name, touches in _of_step(step).items():
            found.setdefault(Place(graph.name, name.lower()), set()).update(touches)
    return {place: touches for place, touches in found.items() if touches}


def _of_step(step: Step) -> dict[str, set[Touch]]:
    before, after = _services(step.before), _services(step.after)
    found: dict[str, set[Touch]] = {}
    for name in before.keys() | after.keys():
        if name not in after:
            found[name] = {Touch.REMOVED}
        elif name not in before:
            found[name] = {Touch.ADDED}
        else:
            found[name] = _between(before[name], after[name])
    if step.component and step.before == step.after:
        # An edit of the operator's own object: what it does to the service is undone, if slowly.
        for name in step.services:
            found.setdefault(name, set()).add(Touch.COMPONENT)
    if step.before and step.after and step.before.backend != step.after.backend:
        for touches in found.values():
            touches.add(Touch.TEMPLATE)
    return found


def _services(graph: Graph | None) -> dict[str, Service]:
    return {service.name: service for service in graph.services} if graph else {}


def _between(old: Service, new: Service) -> set[Touch]:
    found = set()
    if old.size != new.size:
        found.add(Touch.SHAPE)
    if old.groups != new.groups:
        found.add(Touch.REPLICAS)
    if old != new.replace(replicas=old.replicas, node_count=old.node_count):
        found.add(Touch.TEMPLATE)
    return found


def budget(workloads: Iterable[Obj], *, wanted: int) -> int:
    """Ready pods (of an LWS: ready leaders) that must be there at each instant, when the service
    wants `wanted` of them both before and after."""
    several = list(workloads)
    lost = sum(_unavailable(w, wanted if len(several) == 1 else _groups(w)) for w in several)
    return max(0, wanted - lost)


def _groups(workload: Obj) -> int:
    value = workload.at(*WORKLOADS[workload.kind].groups)
    return 1 if value is None else int(value)


def _unavailable(workload: Obj, wanted: int) -> int:
    if workload.kind == DEPLOYMENT:
        strategy = workload.at("spec", "strategy", default={})
        if strategy.get("type") == "Recreate":
            return wanted
        rolling = strategy.get("rollingUpdate") or {}
        lost = _resolve(rolling.get("maxUnavailable", "25%"), wanted, math.floor)
        surge = _resolve(rolling.get("maxSurge", "25%"), wanted, math.ceil)
        return 1 if lost == 0 and surge == 0 else lost
    if workload.kind == LWS:
        path = ("spec", "rolloutStrategy", "rollingUpdateConfiguration")
        rolling = workload.at(*path, default={}) or {}
        return _resolve(rolling.get("maxUnavailable", 1), wanted, math.floor)
    # A kind whose strategy is not known promises nothing that could be held against it.
    return wanted


def _resolve(value: Any, of: int, rounding: Any) -> int:
    text = str(value)
    if text.endswith("%"):
        return int(rounding(int(text[:-1]) * of / 100))
    return int(text)
