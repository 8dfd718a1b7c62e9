"""The doors by which a transition reaches the API: a method and a served version."""

import copy
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsonpatch

from conformance.model.graph import ApiVersion, Graph
from conformance.model.manifest import manifest, service_bodies
from conformance.model.transition import Transition


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
    """A way into the API: method and served version."""

    method: Method
    version: ApiVersion

    def __str__(self) -> str:
        return f"{self.method}-{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent to the API server."""

    verb: str
    content_type: str
    body: Any
    """A JSON value; for a JSON patch a list."""


def request_for(
    transition: Transition,
    *,
    before: Graph,
    live: Mapping[str, Any],
    door: Door,
    namespace: str,
) -> Request:
    """The request that carries the transition through the door.

    `live` is the stored graph as read in the door's version. All methods but apply start from it, as
    kubectl edit and most clients do, so fields that the operator added are kept. A merge patch of
    v1beta1 carries the whole component list, since a merge patch replaces lists whole.
    """
    after = transition.apply(before)
    edit = transition.raw or (lambda body: body)
    verb = "PUT" if door.method is Method.REPLACE else "PATCH"
    if door.method is Method.APPLY:
        # The suite's field manager owns what it applied; leaving a key out removes it.
        body: Any = edit(manifest(after, version=door.version, namespace=namespace))
    else:
        source = _writable(live)
        body = edit(_edited(live, before=before, after=after, version=door.version))
        if door.method is Method.JSON_PATCH:
            body = jsonpatch.make_patch(source, body).patch
        elif door.method is Method.MERGE_PATCH:
            body = _merge_patch(source, body)
    return Request(verb=verb, content_type=_CONTENT_TYPES[door.method], body=body)


def _writable(live: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without what a client does not write."""
    copied = copy.deepcopy(dict(live))
    copied.pop("status", None)
    copied["metadata"].pop("managedFields", None)
    return copied


def _edited(
    live: Mapping[str, Any], *, before: Graph, after: Graph, version: ApiVersion
) -> dict[str, Any]:
    """The live object with just the difference between the two graphs applied to it."""
    target = _writable(live)
    old, new = (manifest(graph, version=version) for graph in (before, after))
    for key in ("annotations", "labels"):
        wanted = new["metadata"].get(key, {})
        if wanted != old["metadata"].get(key, {}):
            target["metadata"][key] = {**target["metadata"].get(key, {}), **wanted}
    known, olds = service_bodies(target, version), service_bodies(old, version)
    renamed = _renames(before, after)
    services: dict[str, Any] = {}
    for name, body in service_bodies(new, version).items():
        was = renamed.get(name, name)
        there = was in known and was in olds
        services[name] = _three_way(known[was], olds[was], body) if there else body
    if version is ApiVersion.V1ALPHA1:
        target["spec"]["services"] = services
    else:
        target["spec"]["components"] = list(services.values())
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


def _three_way(live: Any, old: Any, new: Any) -> Any:
    """`live` with the difference old → new applied, key by key."""
    if not (isinstance(live, Mapping) and isinstance(old, Mapping) and isinstance(new, Mapping)):
        return copy.deepcopy(live if old == new else new)
    result: dict[str, Any] = copy.deepcopy(dict(live))
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
    """RFC 7386: the smallest merge patch from live to target. A removed key is sent as null."""
    patch: dict[str, Any] = dict.fromkeys(live.keys() - target.keys())
    for key, value in target.items():
        old = live.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            if value != old:
                patch[key] = _merge_patch(old, value)
        elif value != old:
            patch[key] = value
    return patch
