"""How many ready pods a service must keep while it changes: by the workloads' own strategies.
Part of `availability`."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from conformance.history.records import Step
from conformance.judge.lineage import Place
from conformance.model.graph import Graph, Service
from conformance.model.kinds import WORKLOADS
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
    """Ready pods (of groups: ready leaders) that must be there at each instant, when the service
    wants `wanted` of them both before and after."""
    several = [(WORKLOADS[workload.kind], workload) for workload in workloads]
    lost = sum(
        row.unavailable(workload, wanted=wanted if len(several) == 1 else row.groups_of(workload))
        for row, workload in several
    )
    return max(0, wanted - lost)
