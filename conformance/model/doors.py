"""The doors by which a transition reaches the API: method and served version. Pure."""

from __future__ import annotations

import copy
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsonpatch

from conformance.model.graph import ApiVersion, Graph, Service
from conformance.model.manifest import manifest, service_spec
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

    `live` is the stored graph as read in the door's version: all methods but apply start from it, as
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
    source = _writable(live)
    if door.method is Method.JSON_PATCH:
        operations = jsonpatch.make_patch(source, target).patch
        return Request(verb=verb, content_type=content_type, body=operations)
    return Request(verb=verb, content_type=content_type, body=_merge_patch(source, target))


def _raw(transition: Transition, body: dict[str, Any]) -> dict[str, Any]:
    edited: dict[str, Any] = transition.raw(body) if transition.raw else body
    return edited


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
    edited: dict[str, Any] = _three_way(live, service_spec(old, version), new)
    return edited


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
