"""What an installation made on a cluster that is not thrown away, and how it goes again.

Only what was not there before is ever removed. What is there already, and not by an earlier run of
the suite, is refused before anything is written.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from conformance.kube import Api, Resource
from conformance.model.errors import InfraError, UsageError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP
from conformance.model.labels import OWNED
from conformance.model.state import Obj
from conformance.operator.resources import CRDS, NAMESPACES, served

_POLL = 0.3
_RELEASE_SECONDS = 10.0
_SHOWN = 5
"""So many objects are named in an error."""


class _Ref(NamedTuple):
    """One object by name."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Footprint:
    """The objects of one installation."""

    def __init__(self, api: Api, *, namespace: str) -> None:
        """`namespace` is for manifests that name none."""
        self._api = api
        self._namespace = namespace
        self._made: list[_Ref] = []
        self._crds_before = self._crds()

    def plan(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Note those that are not there yet, before they are made. Raises UsageError if others are
        there that the suite did not label; namespaces may be."""
        foreign: list[_Ref] = []
        for manifest in manifests:
            metadata = manifest["metadata"]
            namespace = str(metadata.get("namespace") or self._namespace)
            ref = _Ref(manifest["apiVersion"], manifest["kind"], namespace, metadata["name"])
            if ref in self._made:
                continue
            live = self._read(ref)
            if live is None or self.is_ours(live):
                self._made.append(ref)
            elif ref.kind != NAMESPACES.kind:
                foreign.append(ref)
        if foreign:
            rest = len(foreign) - _SHOWN
            more = f" and {rest} more" if rest > 0 else ""
            raise UsageError(
                f"the cluster has {_shown(foreign)}{more} already, which the suite did not make and "
                "will not overwrite: use the operator that is installed there, or remove it first"
            )

    def remove_graphs(self, *, within: float) -> None:
        """Delete all graphs and components, if their kinds came with this installation, while the
        operator can still release them. Those it does not release within `within` seconds are
        released for it: their kind goes, too. Raises InfraError if some stay."""
        kinds = [served(self._api, kind, GROUP) for kind in (GRAPH_KIND, COMPONENT_KIND)]
        ours = [kind for kind in kinds if kind and str(kind) not in self._crds_before]
        began, released = time.monotonic(), False
        while left := [(kind, Obj(o)) for kind in ours for o in self._api.metadata_list(kind)[0]]:
            seconds = time.monotonic() - began
            if seconds > within + _RELEASE_SECONDS:
                names = _shown([graph for _, graph in left])
                raise InfraError(f"{names} were not gone {seconds:.0f} s after their deletion")
            for kind, graph in left:
                if not graph.deleting:
                    self._api.delete(kind, graph.name, graph.namespace)
                elif seconds > within and not released:
                    free = {"metadata": {"finalizers": None}}
                    self._api.patch(kind, graph.name, free, graph.namespace)
            released = seconds > within
            time.sleep(_POLL)

    def remove(self, *, within: float) -> None:
        """Delete what was made, the last first, and what its own program installed of our group's
        kinds; wait until all is gone. Raises InfraError if some stay."""
        order = {NAMESPACES.kind: 2, CRDS.kind: 1}
        going = self._made[::-1]
        going.sort(key=lambda ref: order.get(ref.kind, 0))
        going += [
            _Ref(CRDS.api_version, CRDS.kind, "", name)
            for name in sorted(self._crds() - self._crds_before)
            if name.endswith(f".{GROUP}")
        ]
        for ref in going:
            if resource := self._resource(ref):
                with contextlib.suppress(InfraError):
                    self._api.delete(resource, ref.name, ref.namespace or None)
        deadline = time.monotonic() + within
        while left := [ref for ref in going if self._read(ref) is not None]:
            if time.monotonic() > deadline:
                raise InfraError(
                    f"{_shown(left)} were not gone {within:.0f} s after their deletion"
                )
            time.sleep(_POLL)

    @staticmethod
    def is_ours(live: Mapping[str, Any]) -> bool:
        """True for what an earlier run of the suite left."""
        return Obj(live).labels.get(OWNED) == "true"

    def _crds(self) -> set[str]:
        return {Obj(crd).name for crd in self._api.metadata_list(CRDS)[0]}

    def _read(self, ref: _Ref) -> dict[str, Any] | None:
        resource = self._resource(ref)
        return self._api.read(resource, ref.name, ref.namespace or None) if resource else None

    def _resource(self, ref: _Ref) -> Resource | None:
        group, _, version = ref.api_version.rpartition("/")
        return served(self._api, ref.kind, group, version)


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


def _shown(objects: Sequence[object]) -> str:
    return ", ".join(str(each) for each in objects[:_SHOWN])
