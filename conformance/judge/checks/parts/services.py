"""Services of graphs: what each asks for, and what steps do to it."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable

from conformance.history.records import Step
from conformance.judge.lineage import Place
from conformance.model.graph import Graph, Service

Wish = tuple[int, int, str]
"""What of a service must show on its workloads: number of nodes, of replicas, image."""


def wish(service: Service) -> Wish:
    """What the service asks for."""
    return service.size, service.groups, service.image


def service_of(graph: Graph | None, name: str) -> Service | None:
    """The graph's service of that name, written in whatever case."""
    services = graph.services if graph is not None else ()
    return next((one for one in services if one.name.lower() == name.lower()), None)


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
    found: dict[Place, set[Touch]] = defaultdict(set)
    for step in steps:
        graph = step.after or step.before
        if graph is not None:
            for name, touches in _of_step(step).items():
                found[Place(graph.name, name.lower())] |= touches
    return {place: touches for place, touches in found.items() if touches}


def _of_step(step: Step) -> dict[str, set[Touch]]:
    before, after = (
        {one.name: one for one in graph.services} if graph else {}
        for graph in (step.before, step.after)
    )
    names = before.keys() | after.keys()
    found = {name: _between(before.get(name), after.get(name)) for name in names}
    if step.component and step.before == step.after:
        # An edit of the operator's own object: what it does to the service is undone, if slowly.
        for name in step.services:
            found.setdefault(name, set()).add(Touch.COMPONENT)
    if step.before and step.after and step.before.backend != step.after.backend:
        for touches in found.values():
            touches.add(Touch.TEMPLATE)
    return found


def _between(old: Service | None, new: Service | None) -> set[Touch]:
    if new is None:
        return {Touch.REMOVED}
    if old is None:
        return {Touch.ADDED}
    differs = {
        Touch.SHAPE: old.size != new.size,
        Touch.REPLICAS: old.groups != new.groups,
        Touch.TEMPLATE: old != new.replace(replicas=old.replicas, node_count=old.node_count),
    }
    return {touch for touch in differs if differs[touch]}
