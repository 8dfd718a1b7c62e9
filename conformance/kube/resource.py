"""Kinds as an API server serves them: where their objects live, and which there are."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from conformance.kube.transport import Transport, raise_for

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STABILITY = {None: 2, "beta": 1, "alpha": 0}
_AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
)

# The same objects served by two groups: the one that is left out, and why.
TWICE_SERVED: dict[tuple[str, str], str] = {
    ("events.k8s.io", "events"): "the same objects as core events; one entry an object is enough",
}


@dataclass(frozen=True, slots=True)
class Resource:
    """One served kind in one version. `plural` is the name in paths, such as `deployments`."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """What may be done with it, if that was asked of the API server."""

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """As in `apiVersion` of an object."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The path of the collection or of one object; without namespace, of all namespaces."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "".join(f"/{quote(part, safe=':')}" for part in parts)


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sorts versions as the API server prefers them, best last: v2 > v1 > v1beta2 > v1alpha1 > foo.
    Source: Kubernetes, "Versions in CustomResourceDefinitions", version priority."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return -1, 0, 0, version
    major, stability, minor = match.groups()
    return _STABILITY[stability], int(major), int(minor or 0), ""


def served_by(crd: Mapping[str, Any], version: str | None = None) -> Resource | None:
    """The kind that an established CustomResourceDefinition serves, in its preferred version unless
    one is named; None if it is not (or no longer) served. Discovery shows a new kind only seconds
    later."""
    spec, status = crd.get("spec") or {}, crd.get("status") or {}
    conditions = {row.get("type"): row.get("status") for row in status.get("conditions") or ()}
    served = [str(row["name"]) for row in spec.get("versions") or () if row.get("served")]
    deleting = (crd.get("metadata") or {}).get("deletionTimestamp")
    if conditions.get("Established") != "True" or not served or deleting:
        return None
    if version and version not in served:
        return None
    names = status.get("acceptedNames") or spec["names"]
    return Resource(
        group=str(spec["group"]),
        version=version or max(served, key=version_priority),
        plural=str(names["plural"]),
        kind=str(names["kind"]),
        namespaced=spec.get("scope") == "Namespaced",
    )


def discover(transport: Transport) -> list[Resource]:
    """Every served kind in every version, in the server's order of preference. Groups whose server
    is down are left out, as the API server reports them stale."""
    found: list[Resource] = []
    for root in ("/api", "/apis"):
        answer = transport.request("GET", root, accept=_AGGREGATED)
        body = raise_for(answer, f"discovery of {root}").body
        aggregated = body.get("kind") == "APIGroupDiscoveryList"
        found += _aggregated(body) if aggregated else _classic(transport, root, body)
    return found


def preferred(served: Iterable[Resource]) -> list[Resource]:
    """One resource for each listable and watchable kind, in the first version that serves it."""
    chosen: dict[tuple[str, str], Resource] = {}
    for resource in served:
        key = (resource.group, resource.plural)
        if {"list", "watch"} <= resource.verbs and key not in TWICE_SERVED:
            chosen.setdefault(key, resource)
    return list(chosen.values())


def _aggregated(body: Mapping[str, Any]) -> Iterator[Resource]:
    for group in body.get("items") or ():
        name = str((group.get("metadata") or {}).get("name") or "")
        for version in group.get("versions") or ():
            for row in version.get("resources") or ():
                yield Resource(
                    name, str(version["version"]), str(row["resource"]),
                    str((row.get("responseKind") or {}).get("kind") or ""),
                    row.get("scope") == "Namespaced", frozenset(row.get("verbs") or ()),
                )  # fmt: skip


def _classic(transport: Transport, root: str, body: Mapping[str, Any]) -> Iterator[Resource]:
    """One group at a time, for servers before aggregated discovery (v1.26)."""
    versions = [("", str(version)) for version in body.get("versions") or ()]
    for group in body.get("groups") or ():
        first = (group.get("preferredVersion") or {}).get("version")
        names = dict.fromkeys([first, *(row["version"] for row in group.get("versions") or ())])
        versions += [(str(group["name"]), str(name)) for name in names if name]
    for group, version in versions:
        answer = transport.request("GET", "/".join(filter(None, (root, group, version))))
        for row in answer.body.get("resources") or () if answer.ok else ():
            if "/" not in row["name"]:
                yield Resource(
                    group, version, str(row["name"]), str(row["kind"]), row["namespaced"],
                    frozenset(row.get("verbs") or ()),
                )  # fmt: skip
