"""Left-overs of runs in a cluster: found by label, graphs removed first, the rest in order.

Nothing without the suite's label is ever touched. Graphs go first, so that a living operator can run
their finalizers; a finalizer that nobody runs is told and not taken away, since it may guard
something outside the cluster.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.cluster.kubeconfig import life
from conformance.kube import Api, Resource, raise_for, served_by
from conformance.model import labels
from conformance.model.errors import InfraError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP

GRAPHS_SECONDS = 60.0
"""For graphs and what is below them: 9-13 s were seen for a foreground deletion."""
NAMESPACES_SECONDS = 120.0
"""For namespaces: kube-controller-manager empties some ten at a time."""
_POLL_SECONDS = 0.25
_NO_RUN_SECONDS = 6 * 3600.0
"""A namespace that names no run is taken for a living one's for this long after its creation."""
_SELECTOR = f"{labels.OWNED}=true"

# Kinds that go first and last among cluster-scoped ones: a webhook without its server refuses the
# deletion of others; a CRD takes all objects of its kind along; roles are what an operator cleans up
# with.
_FIRST = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_LAST = ("CustomResourceDefinition", "ClusterRoleBinding", "ClusterRole")
_NAMESPACE = Resource("", "v1", "namespaces", "Namespace", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A namespace, or a cluster-scoped object, of a run. `alive`: the run is still going on."""

    resource: Resource
    name: str
    run: str
    alive: bool
    uid: str = ""

    def __str__(self) -> str:
        run = f"run {self.run}" if self.run else "a run without an id"
        state = ", which is going on" if self.alive else ""
        return f"{self.resource.kind} {self.name} (of {run}{state})"


@dataclass(slots=True)
class Removal:
    """What became of left-overs. `stuck` says in a sentence each what is still there, and why."""

    removed: list[Leftover] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)


def find(api: Api, *, run: str | None = None) -> list[Leftover]:
    """All labelled namespaces and cluster-scoped objects, of one run if it is named. Kinds that the
    user may not list are passed over. Raises InfraError if namespaces may not be listed."""
    selector = _SELECTOR if run is None else f"{_SELECTOR},{labels.RUN}={run}"
    answer = api.request("GET", _NAMESPACE.path(), params={"labelSelector": selector})
    namespaces: list[dict[str, Any]] = raise_for(answer, "listing namespaces").body["items"]
    now = life.server_time(answer).timestamp()
    going_on = _living(api, namespaces)
    rows = [
        _row(_NAMESPACE, item, alive=_run_of(item) in going_on or _young(item, now))
        for item in namespaces
    ]
    for resource in api.discover():
        if resource.namespaced or resource.kind == _NAMESPACE.kind:
            continue
        listed = api.request("GET", resource.path(), params={"labelSelector": selector})
        for item in (listed.body.get("items") or ()) if listed.ok else ():
            rows.append(_row(resource, item, alive=_run_of(item) in going_on))
    return rows


def remove(
    api: Api,
    leftovers: Sequence[Leftover],
    *,
    graphs_within: float = GRAPHS_SECONDS,
    namespaces_within: float = NAMESPACES_SECONDS,
    tell: Callable[[str], None] = lambda _: None,
) -> Removal:
    """Remove these, in the order that lets controllers do their part, and wait (seconds) for it.
    `tell` hears of each stage. Raises InfraError if the API server fails."""
    result = Removal()
    names = [row.name for row in leftovers if row.resource.kind == _NAMESPACE.kind]
    cluster = [row for row in leftovers if row.resource.kind != _NAMESPACE.kind]
    _remove_graphs(api, names, within=graphs_within, tell=tell)
    _remove_each(api, [r for r in cluster if r.resource.kind in _FIRST], result, tell)
    spaces = [row for row in leftovers if row.resource.kind == _NAMESPACE.kind]
    # A run's own namespace, which tells that it lives, goes last: an interrupted removal is found.
    spaces.sort(key=lambda row: row.name.startswith(life.PREFIX))
    _remove_each(api, spaces, result, tell, within=namespaces_within)
    middle = [r for r in cluster if r.resource.kind not in (*_FIRST, *_LAST)]
    _remove_each(api, middle, result, tell)
    for kind in _LAST:
        rows = [row for row in cluster if row.resource.kind == kind]
        if kind == "CustomResourceDefinition":
            rows = [row for row in rows if _unused(api, row, result)]
        _remove_each(api, rows, result, tell)
    return result


def _living(api: Api, namespaces: Iterable[dict[str, Any]]) -> set[str]:
    return {
        _run_of(item)
        for item in namespaces
        if _run_of(item)
        and item["metadata"]["name"] == life.anchor(_run_of(item))
        and life.alive(api, item)
    }


def _young(item: dict[str, Any], now: float) -> bool:
    return not _run_of(item) and now - _created(item) < _NO_RUN_SECONDS


def _created(item: dict[str, Any]) -> float:
    return datetime.datetime.fromisoformat(item["metadata"]["creationTimestamp"]).timestamp()


def _run_of(item: dict[str, Any]) -> str:
    return str((item["metadata"].get("labels") or {}).get(labels.RUN) or "")


def _row(resource: Resource, item: dict[str, Any], *, alive: bool) -> Leftover:
    meta = item["metadata"]
    return Leftover(
        resource=resource,
        name=str(meta["name"]),
        run=_run_of(item),
        alive=alive,
        uid=str(meta["uid"]),
    )


def _remove_graphs(
    api: Api, namespaces: Sequence[str], *, within: float, tell: Callable[[str], None]
) -> None:
    """Delete graphs and bare components, and wait until they are gone or time is up."""
    kinds = [
        kind
        for kind in api.discover()
        if kind.group == GROUP and kind.kind in (GRAPH_KIND, COMPONENT_KIND)
    ]
    # Graphs before components: an operator makes a component anew while its graph is there.
    kinds.sort(key=lambda kind: kind.kind != GRAPH_KIND)
    end = time.monotonic() + within
    for kind in kinds:
        left = [(space, name) for space in namespaces for name in _names(api, kind, space)]
        if left:
            tell(f"deleting {len(left)} {kind.kind} so that their finalizers can run")
        for space, name in left:
            _accepted(api, kind, name, space)
        while left and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            left = [(space, name) for space, name in left if api.read(kind, name, space)]


def _names(api: Api, kind: Resource, namespace: str) -> list[str]:
    answer = api.request("GET", kind.path(namespace))
    items = (answer.body.get("items") or ()) if answer.ok else ()
    return [str(item["metadata"]["name"]) for item in items]


def _remove_each(
    api: Api,
    rows: Sequence[Leftover],
    result: Removal,
    tell: Callable[[str], None],
    *,
    within: float = GRAPHS_SECONDS,
) -> None:
    if not rows:
        return
    kinds = ", ".join(dict.fromkeys(row.resource.kind for row in rows))
    tell(f"deleting {len(rows)} {kinds}")
    waiting = []
    for row in rows:
        problem = _accepted(api, row.resource, row.name, uid=row.uid)
        if problem:
            result.stuck.append(f"{row} is still there: {problem}")
        else:
            waiting.append(row)
    end = time.monotonic() + within
    while waiting and time.monotonic() < end:
        gone = [row for row in waiting if not _still(api, row)]
        result.removed += gone
        waiting = [row for row in waiting if row not in gone]
        if waiting:
            time.sleep(_POLL_SECONDS)
    result.stuck += [
        f"{row} is still there {within:.0f} s later: {_why(api, row)}" for row in waiting
    ]


def _accepted(
    api: Api, resource: Resource, name: str, namespace: str | None = None, *, uid: str = ""
) -> str:
    """Ask for a deletion; why it was refused, or empty."""
    answer = api.delete(resource, name, namespace, uid=uid or None)
    if answer.ok or answer.code == 404:
        return ""
    return f"the deletion was answered {answer.code} {answer.message}"


def _still(api: Api, row: Leftover) -> bool:
    stored = api.read(row.resource, row.name)
    return stored is not None and (not row.uid or stored["metadata"]["uid"] == row.uid)


def _unused(api: Api, row: Leftover, result: Removal) -> bool:
    """True if nobody has objects of that CRD: they would go with it."""
    stored = api.read(row.resource, row.name)
    if stored is None:
        return False
    kind = served_by(stored)
    count = len(api.metadata_list(kind)[0]) if kind is not None else 0
    if count:
        result.stuck.append(f"{row} is kept: {count} objects of its kind would go with it")
    return count == 0


def _why(api: Api, row: Leftover) -> str:
    stored = api.read(row.resource, row.name) or {}
    finalizers = (stored.get("metadata") or {}).get("finalizers") or []
    if row.resource.kind != _NAMESPACE.kind:
        return _finalizer_text(f"{row.resource} {row.name}", finalizers)
    guarded = []
    for kind in api.discover():
        if not kind.namespaced:
            continue
        answer = api.request("GET", kind.path(row.name))
        for item in (answer.body.get("items") or ()) if answer.ok else ():
            held = item["metadata"].get("finalizers") or []
            if held:
                guarded.append(
                    _finalizer_text(f"{kind} {item['metadata']['name']} -n {row.name}", held)
                )
    if guarded:
        return "; ".join(guarded[:3]) + (f"; and {len(guarded) - 3} more" if guarded[3:] else "")
    conditions = (stored.get("status") or {}).get("conditions") or []
    words = [str(c.get("message")) for c in conditions if c.get("status") == "True"]
    return words[0] if words else "kube-controller-manager has not emptied it yet"


def _finalizer_text(target: str, finalizers: Sequence[str]) -> str:
    if not finalizers:
        return f"{target} is not gone yet"
    return (
        f"{target.split(' -n ')[0]} waits for {', '.join(finalizers)}, which nobody runs; is its "
        "operator gone? Then: kubectl patch "
        f'{target} --type=merge -p \'{{"metadata":{{"finalizers":null}}}}\''
    )


def remove_run(api: Api, run: str, *, within: float, to_the_end: bool) -> Removal:
    """Remove what one run made, in at most about `within` seconds for graphs and again for
    namespaces. `to_the_end` False leaves its own namespace and what is cluster-scoped."""
    try:
        rows = find(api, run=run)
        if not to_the_end:
            own = life.anchor(run)
            rows = [r for r in rows if r.resource.kind == _NAMESPACE.kind and r.name != own]
        return remove(api, rows, graphs_within=within, namespaces_within=within)
    except InfraError as error:
        return Removal(stuck=[f"what run {run} made may still be there: {error}"])
