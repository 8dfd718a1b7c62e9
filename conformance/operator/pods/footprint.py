"""What an installation made on a cluster that is not thrown away, and how it goes again.

Only what was not there before is ever removed. What is there already, and not by an earlier run of
the suite, is refused before anything is written.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.kube import Api, Resource
from conformance.model.errors import InfraError, UsageError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP
from conformance.model.labels import OWNED
from conformance.operator.resources import CRDS, NAMESPACES, served

_POLL = 0.3
_RELEASE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Ref:
    """One object by name."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, manifest: Mapping[str, Any], namespace: str) -> Ref:
        """`namespace` is for manifests that name none."""
        metadata = manifest["metadata"]
        return cls(
            str(manifest["apiVersion"]),
            str(manifest["kind"]),
            str(metadata.get("namespace") or namespace),
            str(metadata["name"]),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Footprint:
    """The objects of one installation."""

    def __init__(self, api: Api, *, namespace: str) -> None:
        """`namespace` is for manifests that name none."""
        self._api = api
        self._namespace = namespace
        self._made: list[Ref] = []
        self._crds_before = {str(crd["metadata"]["name"]) for crd in api.metadata_list(CRDS)[0]}

    def plan(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Note those that are not there yet, before they are made. Raises UsageError if others are
        there that the suite did not label; namespaces may be."""
        foreign: list[Ref] = []
        for manifest in manifests:
            ref = Ref.of(manifest, self._namespace)
            if ref in self._made:
                continue
            live = self._read(ref)
            if live is None or self.is_ours(live):
                self._made.append(ref)
            elif ref.kind != NAMESPACES.kind:
                foreign.append(ref)
        if foreign:
            shown = ", ".join(str(ref) for ref in foreign[:5])
            more = f" and {len(foreign) - 5} more" if len(foreign) > 5 else ""
            raise UsageError(
                f"the cluster has {shown}{more} already, which the suite did not make and will not "
                "overwrite: use the operator that is installed there, or remove it first"
            )

    def remove_graphs(self, *, within: float) -> None:
        """Delete all graphs and components, if their kinds came with this installation, while the
        operator can still release them. Those it does not release within `within` seconds are
        released for it: their kind goes, too. Raises InfraError if some stay."""
        kinds = [served(self._api, kind, GROUP) for kind in (GRAPH_KIND, COMPONENT_KIND)]
        ours = [kind for kind in kinds if kind and str(kind) not in self._crds_before]
        began, released = time.monotonic(), False
        while left := [(kind, item) for kind in ours for item in self._api.metadata_list(kind)[0]]:
            seconds = time.monotonic() - began
            if seconds > within + _RELEASE_SECONDS:
                names = ", ".join(f"{k.kind} {item['metadata']['name']}" for k, item in left[:5])
                raise InfraError(f"{names} were not gone {seconds:.0f} s after their deletion")
            for kind, item in left:
                name, namespace = item["metadata"]["name"], item["metadata"].get("namespace")
                if not item["metadata"].get("deletionTimestamp"):
                    self._api.delete(kind, name, namespace)
                elif seconds > within and not released:
                    self._api.patch(kind, name, {"metadata": {"finalizers": None}}, namespace)
            released = seconds > within
            time.sleep(_POLL)

    def remove(self, *, within: float) -> None:
        """Delete what was made, the last first, and what its own program installed of our group's
        kinds; wait until all is gone. Raises InfraError if some stay."""
        order = {NAMESPACES.kind: 2, CRDS.kind: 1}
        going = self._made[::-1]
        going.sort(key=lambda ref: order.get(ref.kind, 0))
        going += [
            Ref(CRDS.api_version, CRDS.kind, "", name)
            for crd in self._api.metadata_list(CRDS)[0]
            if (name := str(crd["metadata"]["name"])).endswith(f".{GROUP}")
            and name not in self._crds_before
        ]
        for ref in going:
            if resource := _resource(self._api, ref):
                with contextlib.suppress(InfraError):
                    self._api.delete(resource, ref.name, ref.namespace or None)
        deadline = time.monotonic() + within
        while left := [ref for ref in going if self._read(ref) is not None]:
            if time.monotonic() > deadline:
                shown = ", ".join(str(ref) for ref in left[:5])
                raise InfraError(f"{shown} were not gone {within:.0f} s after their deletion")
            time.sleep(_POLL)

    @staticmethod
    def is_ours(live: Mapping[str, Any]) -> bool:
        """True for what an earlier run of the suite left."""
        return (live["metadata"].get("labels") or {}).get(OWNED) == "true"

    def _read(self, ref: Ref) -> dict[str, Any] | None:
        resource = _resource(self._api, ref)
        return self._api.read(resource, ref.name, ref.namespace or None) if resource else None


def _resource(api: Api, ref: Ref) -> Resource | None:
    group, _, version = ref.api_version.rpartition("/")
    return served(api, ref.kind, group, version)


def settled_namespace(api: Api, name: str, *, within: float) -> dict[str, Any] | None:
    """The namespace, None if there is none. Waits until one that is being deleted is gone, since
    nothing can be made in it. Raises InfraError after `within` seconds."""
    began = time.monotonic()
    while (found := api.read(NAMESPACES, name)) is not None:
        if not found["metadata"].get("deletionTimestamp"):
            break
        if time.monotonic() - began > within:
            raise InfraError(f"namespace {name} was still being deleted after {within:.0f} s")
        time.sleep(_POLL)
    return found
