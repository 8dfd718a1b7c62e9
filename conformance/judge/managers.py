"""Field managers: who wrote what, where no audit log names the user.

With each field the API server notes who set it last (`metadata.managedFields`): by default under the
first word of the client's user agent, which for a Go program is the name of its file. Source:
kubernetes.io/docs/reference/using-api/server-side-apply.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from conformance.history.records import Header
from conformance.judge.changes import Change
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import PLATFORM_KINDS, WORKLOADS, Actor
from conformance.model.state import Obj

PLATFORM_MANAGERS = frozenset({"kube-controller-manager", "kube-scheduler", "kubelet", "kwok"})
_GRAPHS = frozenset({GRAPH_KIND, COMPONENT_KIND})


def managers_of(change: Change) -> set[str]:
    """Those whose entry (not of a subresource) is new or moved with this change."""
    known = [_key(e) for e in (_entries(change.before) if change.before else ())]
    return {
        str(entry.get("manager", ""))
        for entry in _entries(change.obj)
        if not entry.get("subresource") and _key(entry) not in known
    }


def actor_of_manager(header: Header, manager: str, obj: Obj) -> Actor:
    """Whose code it stands for. Many programs go by `manager`, those of LeaderWorkerSet too: of what
    a workload owns, the operator's name does not say that it was the operator."""
    if manager in PLATFORM_MANAGERS:
        return Actor.PLATFORM
    actor = Actor(header.users.get(manager, Actor.UNKNOWN))
    below = any(owner.get("kind") in {*WORKLOADS, *PLATFORM_KINDS} for owner in obj.owners)
    return Actor.UNKNOWN if actor is Actor.OPERATOR and below else actor


def operators_managers(objects: Iterable[Obj], *, known: Collection[str]) -> set[str]:
    """The managers of what only an operator makes: what graphs and components own. `known` are those
    of others. To be asked before any case has touched such an object."""
    made = (
        obj
        for obj in objects
        if obj.kind not in PLATFORM_KINDS
        and any(owner.get("kind") in _GRAPHS for owner in obj.owners)
    )
    named = {
        str(entry.get("manager", ""))
        for obj in made
        for entry in _entries(obj)
        if not entry.get("subresource")
    }
    return named - {"", *known, *PLATFORM_MANAGERS}


def _entries(obj: Obj) -> Iterable[Mapping[str, Any]]:
    entries: Iterable[Mapping[str, Any]] = obj.at("metadata", "managedFields") or ()
    return entries


def _key(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    keys = ("manager", "operation", "subresource", "time", "fieldsV1")
    return tuple(entry.get(key) for key in keys)
