"""Which kinds a cluster serves: aggregated discovery, else the classic one group at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conformance.kube.resource import Resource
from conformance.kube.transport import Transport, raise_for

_AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
)

# The same objects served by two groups: the one that is left out, and why.
TWICE_SERVED: dict[tuple[str, str], str] = {
    ("events.k8s.io", "events"): "the same objects as core events; one entry an object is enough",
}


@dataclass(frozen=True, slots=True)
class Served:
    """A resource and what may be done with it, in the server's order of preference."""

    resource: Resource
    verbs: frozenset[str]

    @property
    def recordable(self) -> bool:
        """It can be listed and watched."""
        return {"list", "watch"} <= self.verbs


def discover(transport: Transport) -> list[Served]:
    """Every served resource in every version, the preferred version of a group first. Groups whose
    server is down are left out, as the API server reports them stale."""
    found: list[Served] = []
    for root in ("/api", "/apis"):
        answer = raise_for(
            transport.request("GET", root, accept=_AGGREGATED), f"discovery of {root}"
        )
        if answer.body.get("kind") == "APIGroupDiscoveryList":
            found += _aggregated(answer.body)
        else:
            found += _classic(transport, root, answer.body)
    return found


def preferred(served: list[Served]) -> list[Resource]:
    """One resource for each listable and watchable kind, in the first version that serves it."""
    chosen: dict[tuple[str, str], Resource] = {}
    for row in served:
        key = (row.resource.group, row.resource.plural)
        if row.recordable and key not in TWICE_SERVED:
            chosen.setdefault(key, row.resource)
    return list(chosen.values())


def _aggregated(body: dict[str, Any]) -> Iterator[Served]:
    for group in body.get("items") or ():
        name = str((group.get("metadata") or {}).get("name") or "")
        for version in group.get("versions") or ():
            for row in version.get("resources") or ():
                yield Served(
                    Resource(
                        group=name,
                        version=str(version["version"]),
                        plural=str(row["resource"]),
                        kind=str((row.get("responseKind") or {}).get("kind") or ""),
                        namespaced=row.get("scope") == "Namespaced",
                    ),
                    frozenset(row.get("verbs") or ()),
                )


def _classic(transport: Transport, root: str, body: dict[str, Any]) -> Iterator[Served]:
    """For servers before aggregated discovery (v1.26)."""
    if root == "/api":
        versions = [("", str(version)) for version in body.get("versions") or ()]
    else:
        groups = body.get("groups") or ()
        versions = [(str(group["name"]), v) for group in groups for v in _by_preference(group)]
    for group, version in versions:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        answer = transport.request("GET", path)
        if not answer.ok:
            continue
        for row in answer.body.get("resources") or ():
            if "/" not in row["name"]:
                yield Served(
                    Resource(group, version, str(row["name"]), str(row["kind"]), row["namespaced"]),
                    frozenset(row.get("verbs") or ()),
                )


def _by_preference(group: dict[str, Any]) -> list[str]:
    first = (group.get("preferredVersion") or {}).get("version")
    versions = [str(row["version"]) for row in group.get("versions") or ()]
    return sorted(versions, key=lambda version: version != first)
