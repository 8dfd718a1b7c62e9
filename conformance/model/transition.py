"""Changes to graphs, and the doors by which they are sent. Pure: graph in, graph and request out."""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.model.graph import ApiVersion, Graph, Service
from conformance.model.manifest import manifest, service_spec


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
    """A named change. `kinds` lists every kind of change in it (a mixed request has several).

    `moves_generation` False: the API server must not count it as a spec change (no-op, metadata
    only); a moved generation is then the finding. `raw` edits the rendered manifest for what a Graph
    cannot say (an illegal field). `by_null` asks the merge patch door to remove keys by null.
    """

    name: str
    kinds: tuple[ChangeKind, ...]
    apply: Callable[[Graph], Graph]
    services: tuple[str, ...] = ()
    moves_generation: bool = True
    raw: Callable[[dict[str, Any]], dict[str, Any]] | None = None


def _edit(service: str, **changes: Any) -> Callable[[Graph], Graph]:
    return lambda graph: graph.with_service(graph.service(service).replace(**changes))


def add_multinode(service: str, *, node_count: int = 2) -> Transition:
    """Give a single-node service `multinode`."""
    return Transition(
        name=f"add-multinode-{node_count}",
        kinds=(ChangeKind.ADD_MULTINODE,),
        apply=_edit(service, node_count=node_count),
        services=(service,),
    )


def remove_multinode(service: str) -> Transition:
    """Take `multinode` away from a service."""
    return Transition(
        name="remove-multinode",
        kinds=(ChangeKind.REMOVE_MULTINODE,),
        apply=_edit(service, node_count=None),
        services=(service,),
    )


def change_node_count(service: str, *, to: int) -> Transition:
    """Change the number of nodes of a service that already is multinode."""
    return Transition(
        name=f"node-count-{to}",
        kinds=(ChangeKind.CHANGE_NODE_COUNT,),
        apply=_edit(service, node_count=to),
        services=(service,),
    )


def scale(service: str, *, to: int) -> Transition:
    """Change replicas: pods of a Deployment, groups of an LWS."""
    return Transition(
        name=f"replicas-{to}",
        kinds=(ChangeKind.REPLICAS,),
        apply=_edit(service, replicas=to),
        services=(service,),
    )


def set_image(service: str, image: str) -> Transition:
    """Change the main container's image."""

    def apply(graph: Graph) -> Graph:
        old = graph.service(service)
        return graph.with_service(old.replace(container={**old.container, "image": image}))

    return Transition(name="image", kinds=(ChangeKind.IMAGE,), apply=apply, services=(service,))


def add_service(service: Service) -> Transition:
    """Add a service to the graph."""
    return Transition(
        name=f"add-service-{service.name.lower()}",
        kinds=(ChangeKind.SERVICE_ADDED,),
        apply=lambda graph: graph.with_service(service),
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


class Method(enum.StrEnum):
    """How a change is sent to the API server."""

    MERGE_PATCH = "merge-patch"
    JSON_PATCH = "json-patch"
    REPLACE = "replace"
    APPLY = "apply"


_CONTENT_TYPES = {
    Method.MERGE_PATCH: "application/merge-patch+json",
    Method.JSON_PATCH: "application/json-patch+json",
    Method.REPLACE: "application/json",
    Method.APPLY: "application/apply-patch+yaml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A way into the API: method and served version. `null` removes keys by JSON null (merge patch)."""

    method: Method
    version: ApiVersion
    null: bool = True

    def __str__(self) -> str:
        return f"{self.method}-{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What goes over the wire. `body` is a JSON value (a list for a JSON patch)."""

    verb: str
    content_type: str
    body: Any


def request_for(
    transition: Transition,
    *,
    before: Graph,
    live: Mapping[str, Any],
    door: Door,
    namespace: str,
) -> Request:
    """The request that carries the transition through the door.

    `live` is the stored graph as read in the door's version: replace and JSON patch start from it, as
    kubectl edit and most clients do, so fields that the operator added are kept. Merge patches of
    v1beta1 carry the whole component list, since a merge patch replaces lists whole.
    """
    after = transition.apply(before)
    verb = "PUT" if door.method is Method.REPLACE else "PATCH"
    content_type = _CONTENT_TYPES[door.method]
    if door.method is Method.APPLY:
        # The suite's field manager owns what it applied; leaving a key out removes it.
        body: Any = manifest(after, version=door.version, namespace=namespace)
        return Request(verb=verb, content_type=content_type, body=_raw(transition, body))
    target = _edited(live, before=before, after=after, version=door.version)
    target = _raw(transition, target)
    if door.method is Method.REPLACE:
        return Request(verb=verb, content_type=content_type, body=target)
    if door.method is Method.JSON_PATCH:
        return Request(verb=verb, content_type=content_type, body=_json_patch(live, target))
    return Request(verb=verb, content_type=content_type, body=_merge_patch(live, target))


def _raw(transition: Transition, body: dict[str, Any]) -> dict[str, Any]:
    edited: dict[str, Any] = transition.raw(body) if transition.raw else body
    return edited


def _edited(
    live: Mapping[str, Any], *, before: Graph, after: Graph, version: ApiVersion
) -> dict[str, Any]:
    """The live object with just the difference between the two graphs applied to it."""
    target = copy.deepcopy(dict(live))
    target.pop("status", None)
    target["metadata"].pop("managedFields", None)
    old = manifest(before, version=version)
    new = manifest(after, version=version)
    for key in ("annotations", "labels"):
        wanted = new["metadata"].get(key, {})
        if wanted != old["metadata"].get(key, {}):
            target["metadata"][key] = {**target["metadata"].get(key, {}), **wanted}
    renamed = _renames(before, after)
    if version is ApiVersion.V1ALPHA1:
        services = target["spec"].setdefault("services", {})
        target["spec"]["services"] = {
            name: _service(services.get(renamed.get(name, name)), before, s, version, renamed)
            for name, s in ((s.name, s) for s in after.services)
        }
    else:
        known = {c["name"]: c for c in target["spec"].get("components", [])}
        target["spec"]["components"] = [
            _service(known.get(renamed.get(s.name, s.name)), before, s, version, renamed)
            for s in after.services
        ]
    return target


def _renames(before: Graph, after: Graph) -> dict[str, str]:
    """New name → old name of services that stand at the same place with the same content."""
    if len(before.services) != len(after.services):
        return {}
    return {
        new.name: old.name
        for old, new in zip(before.services, after.services, strict=True)
        if old.name != new.name and old == new.replace(name=old.name)
    }


def _service(
    live: Mapping[str, Any] | None,
    before: Graph,
    service: Service,
    version: ApiVersion,
    renamed: Mapping[str, str],
) -> dict[str, Any]:
    new = service_spec(service, version)
    old_name = renamed.get(service.name, service.name)
    old = next((s for s in before.services if s.name == old_name), None)
    if live is None or old is None:
        return new
    return _three_way(live, service_spec(old, version), new)


def _three_way(live: Any, old: Any, new: Any) -> Any:
    """`live` with the difference old → new applied, key by key."""
    if not (isinstance(live, Mapping) and isinstance(old, Mapping) and isinstance(new, Mapping)):
        return copy.deepcopy(live if old == new else new)
    result = copy.deepcopy(dict(live))
    for key in old.keys() - new.keys():
        result.pop(key, None)
    for key, value in new.items():
        if key not in old or key not in live:
            if value != old.get(key):
                result[key] = copy.deepcopy(value)
        else:
            result[key] = _three_way(live[key], old[key], value)
    return result


def _merge_patch(live: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, Any]:
    """RFC 7386: the smallest merge patch from live to target (metadata: labels, annotations)."""
    patch: dict[str, Any] = {}
    for key in target.keys() | live.keys():
        if key in ("status", "managedFields"):
            continue
        if key not in target:
            patch[key] = None
        elif key not in live:
            patch[key] = target[key]
        elif isinstance(target[key], Mapping) and isinstance(live[key], Mapping):
            inner = _merge_patch(live[key], target[key])
            if inner:
                patch[key] = inner
        elif target[key] != live[key]:
            patch[key] = target[key]
    return patch


def _json_patch(live: Any, target: Any, path: str = "") -> list[dict[str, Any]]:
    """RFC 6902: operations from live to target. Lists of one length are edited in place."""
    if isinstance(live, Mapping) and isinstance(target, Mapping):
        operations: list[dict[str, Any]] = []
        for key in sorted(live.keys() | target.keys()):
            if path == "" and key == "status" or path == "/metadata" and key == "managedFields":
                continue
            escaped = f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}"
            if key not in target:
                operations.append({"op": "remove", "path": escaped})
            elif key not in live:
                operations.append({"op": "add", "path": escaped, "value": target[key]})
            else:
                operations += _json_patch(live[key], target[key], escaped)
        return operations
    if isinstance(live, list) and isinstance(target, list) and len(live) == len(target):
        return [
            operation
            for index, (old, new) in enumerate(zip(live, target, strict=True))
            for operation in _json_patch(old, new, f"{path}/{index}")
        ]
    return [] if live == target else [{"op": "replace", "path": path, "value": target}]
