"""A kind as an API server serves it, and where its objects live."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STABILITY = {None: 2, "beta": 1, "alpha": 0}


@dataclass(frozen=True, slots=True)
class Resource:
    """One served kind in one version. `plural` is the name in paths, such as `deployments`."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    kind: str
    namespaced: bool

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
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, *(subresource or "").split("/")) if part]
        return "/".join([parts[0], *(quote(part, safe=":") for part in parts[1:])])


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sorts versions as the API server prefers them, best last: v2 > v1 > v1beta2 > v1alpha1 > foo.

    Source: Kubernetes, "Versions in CustomResourceDefinitions", version priority.
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return -1, 0, 0, version
    major, stability, minor = match.groups()
    return _STABILITY[stability], int(major), int(minor or 0), ""


def served_by(crd: Mapping[str, Any], version: str | None = None) -> Resource | None:
    """The kind that an established CustomResourceDefinition serves, in its preferred version unless
    one is named; None if it is not (or no longer) served. Discovery shows a new kind only seconds
    later."""
    spec = crd.get("spec") or {}
    status = crd.get("status") or {}
    established = any(
        condition.get("type") == "Established" and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )
    served = [str(row["name"]) for row in spec.get("versions") or () if row.get("served")]
    deleting = bool((crd.get("metadata") or {}).get("deletionTimestamp"))
    if not established or not served or deleting or (version or served[0]) not in served:
        return None
    names = status.get("acceptedNames") or spec["names"]
    return Resource(
        group=str(spec["group"]),
        version=version or max(served, key=version_priority),
        plural=str(names["plural"]),
        kind=str(names["kind"]),
        namespaced=spec.get("scope") == "Namespaced",
    )
