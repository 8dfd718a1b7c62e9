"""What an installation made on a cluster that is not thrown away, and how it goes again.

Only what was not there before is ever removed. What is there already, and not by an earlier run of
the suite, is refused before anything is written.
"""

import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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


class Footprint:
    """The objects of one installation."""

    def __init__(self, api: Api, *, namespace: str) -> None:
        """`namespace` is for manifests that name none."""
        self._api = api
        self._namespace = namespace
        self._made: list[Obj] = []
        self._crds_before = self._crds().keys()

    def plan(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Note what is not there yet. Raises UsageError if something is that the suite did not label;
        namespaces may be."""
        foreign: list[Obj] = []
        for wanted in map(Obj, manifests):
            live = self._read(wanted)
            if live is None or is_ours(live):
                self._made.append(wanted)
            elif wanted.kind != NAMESPACES.kind:
                foreign.append(wanted)
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
        going.sort(key=lambda made: order.get(made.kind, 0))
        crds = [crd for name, crd in self._crds().items() if name not in self._crds_before]
        going += [crd for crd in crds if crd.name.endswith(f".{GROUP}")]
        for made in going:
            if resource := self._resource(made):
                with contextlib.suppress(InfraError):
                    self._api.delete(resource, made.name, self._namespace_of(made))
        deadline = time.monotonic() + within
        while left := [made for made in going if self._read(made)]:
            if time.monotonic() > deadline:
                shown = _shown(left)
                raise InfraError(f"{shown} were not gone {within:.0f} s after their deletion")
            time.sleep(_POLL)

    def _crds(self) -> dict[str, Obj]:
        crds = map(Obj, self._api.metadata_list(CRDS)[0])
        return {crd.name: crd for crd in crds}

    def _read(self, wanted: Obj) -> Obj | None:
        resource = self._resource(wanted)
        if resource is None:
            return None
        found = self._api.read(resource, wanted.name, self._namespace_of(wanted))
        return Obj(found) if found else None

    def _resource(self, wanted: Obj) -> Resource | None:
        version = str(wanted.raw["apiVersion"]).rpartition("/")[2]
        return served(self._api, wanted.kind, wanted.group, version)

    def _namespace_of(self, wanted: Obj) -> str:
        return wanted.namespace or self._namespace


def is_ours(live: Obj) -> bool:
    """True for what an earlier run of the suite left."""
    return live.labels.get(OWNED) == "true"


def settled_namespace(api: Api, name: str, *, within: float) -> Obj | None:
    """The namespace, None if there is none. Waits until one that is being deleted is gone, since
    nothing can be made in it. Raises InfraError after `within` seconds."""
    began = time.monotonic()
    while found := api.read(NAMESPACES, name):
        if not Obj(found).deleting:
            return Obj(found)
        if time.monotonic() - began > within:
            raise InfraError(f"namespace {name} was still being deleted after {within:.0f} s")
        time.sleep(_POLL)
    return None


def _shown(objects: Sequence[Obj]) -> str:
    return ", ".join(str(each) for each in objects[:_SHOWN])
