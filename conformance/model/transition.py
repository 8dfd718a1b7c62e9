"""Changes to graphs, as functions from graph to graph. `doors` turns them into requests."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.model.graph import Graph, Service


class ChangeKind(enum.StrEnum):
    """What a change does; the profile's promises are per kind."""

    DEPLOY = "deploy"
    ADD_MULTINODE = "add-multinode"
    REMOVE_MULTINODE = "remove-multinode"
    CHANGE_NODE_COUNT = "change-node-count"
    REPLICAS = "replicas"
    IMAGE = "image"
    SERVICE_ADDED = "service-added"
    SERVICE_REMOVED = "service-removed"
    SERVICE_RENAMED = "service-renamed"
    ANNOTATION = "annotation"
    NO_OP = "no-op"
    DELETE = "delete"
    ILLEGAL = "illegal"
    """Breaks the published schema or a declared rule: only a refusal is right."""
    OPERATOR = "operator"
    """The operator itself is stopped, killed or started; no request to the API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A named change of a graph, of one kind or of several in one request."""

    name: str
    kinds: tuple[ChangeKind, ...]
    apply: Callable[[Graph], Graph]
    services: tuple[str, ...] = ()
    """The services that it changes."""
    moves_generation: bool = True
    """False for a no-op and for metadata: the API server must not count it as a change of the spec."""
    raw: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Edits the manifest where a Graph cannot say it, such as an illegal field."""


def _edit(name: str, kind: ChangeKind, service: str, **changes: Any) -> Transition:
    """A transition that changes fields of one service."""
    return Transition(
        name=name,
        kinds=(kind,),
        apply=lambda graph: graph.with_service(graph.service(service).replace(**changes)),
        services=(service,),
    )


def add_multinode(service: str, *, node_count: int = 2) -> Transition:
    """Give a single-node service `multinode`."""
    name = f"add-multinode-{node_count}"
    return _edit(name, ChangeKind.ADD_MULTINODE, service, node_count=node_count)


def remove_multinode(service: str) -> Transition:
    """Take `multinode` away from a service."""
    return _edit("remove-multinode", ChangeKind.REMOVE_MULTINODE, service, node_count=None)


def change_node_count(service: str, *, to: int) -> Transition:
    """Change the number of nodes of a multinode service."""
    return _edit(f"node-count-{to}", ChangeKind.CHANGE_NODE_COUNT, service, node_count=to)


def scale(service: str, *, to: int) -> Transition:
    """Change replicas: pods of a Deployment, groups of an LWS."""
    return _edit(f"replicas-{to}", ChangeKind.REPLICAS, service, replicas=to)


def set_image(service: str, image: str) -> Transition:
    """Change the main container's image."""

    def apply(graph: Graph) -> Graph:
        old = graph.service(service)
        return graph.with_service(old.replace(container={**old.container, "image": image}))

    return Transition(name="image", kinds=(ChangeKind.IMAGE,), apply=apply, services=(service,))


def add_service(service: Service) -> Transition:
    """Add a service to the graph, unless it has one of that name because its removal was refused."""

    def apply(graph: Graph) -> Graph:
        there = any(known.name == service.name for known in graph.services)
        return graph if there else graph.with_service(service)

    return Transition(
        name=f"add-service-{service.name.lower()}",
        kinds=(ChangeKind.SERVICE_ADDED,),
        apply=apply,
        services=(service.name,),
    )


def remove_service(name: str) -> Transition:
    """Remove a service from the graph."""
    return Transition(
        name=f"remove-service-{name.lower()}",
        kinds=(ChangeKind.SERVICE_REMOVED,),
        apply=lambda graph: graph.without_service(name),
        services=(name,),
    )


def rename_service(name: str, to: str) -> Transition:
    """Rename a service: for the API a removal and an addition in one request."""
    return Transition(
        name=f"rename-{name.lower()}",
        kinds=(ChangeKind.SERVICE_RENAMED,),
        apply=lambda graph: graph.replace(
            services=tuple(s.replace(name=to) if s.name == name else s for s in graph.services)
        ),
        services=(name, to),
    )


def annotate(key: str, value: str) -> Transition:
    """Change only an annotation of the graph."""
    return Transition(
        name="annotation-only",
        kinds=(ChangeKind.ANNOTATION,),
        apply=lambda graph: graph.replace(annotations={**graph.annotations, key: value}),
        moves_generation=False,
    )


def no_op() -> Transition:
    """Send the graph again as it is."""
    return Transition(
        name="no-op", kinds=(ChangeKind.NO_OP,), apply=lambda graph: graph, moves_generation=False
    )


def together(name: str, *parts: Transition) -> Transition:
    """Several changes in one request."""

    def apply(graph: Graph) -> Graph:
        for part in parts:
            graph = part.apply(graph)
        return graph

    raws = [part.raw for part in parts if part.raw]

    def raw(body: dict[str, Any]) -> dict[str, Any]:
        for edit in raws:
            body = edit(body)
        return body

    return Transition(
        name=name,
        kinds=tuple(kind for part in parts for kind in part.kinds),
        apply=apply,
        services=tuple(dict.fromkeys(s for part in parts for s in part.services)),
        moves_generation=any(part.moves_generation for part in parts),
        raw=raw if raws else None,
    )
