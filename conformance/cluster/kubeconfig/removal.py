"""Removal of leftover objects, in order: graphs first, so that a living operator can run their
finalizers. A finalizer that nobody runs is reported and not taken away, since it may guard something
outside the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.cluster.kubeconfig import leftovers, run_lease
from conformance.cluster.kubeconfig.leftovers import LeftoverObject
from conformance.kube import Api, Resource, served_by
from conformance.model.errors import InfraError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP

GRAPHS_SECONDS = 60.0
"""For graphs and what is below them: 9-13 s were seen for a foreground deletion."""
NAMESPACES_SECONDS = 120.0
"""For namespaces: kube-controller-manager empties some ten at a time."""
_POLL_SECONDS = 0.25

# Kinds that go first and last among cluster-scoped ones: a webhook without its server refuses the
# deletion of others; a CRD takes all objects of its kind along; roles are what an operator cleans up
# with.
_FIRST = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_LAST = ("CustomResourceDefinition", "ClusterRoleBinding", "ClusterRole")


@dataclass(slots=True)
class Removal:
    """What became of leftover objects. `stuck` says in a sentence each what is still there, and why."""

    removed: list[LeftoverObject] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)


def remove(
    api: Api,
    rows: Sequence[LeftoverObject],
    *,
    graphs_within: float = GRAPHS_SECONDS,
    namespaces_within: float = NAMESPACES_SECONDS,
    tell: Callable[[str], None] = lambda _: None,
) -> Removal:
    """Remove these, in the order that lets controllers do their part, and wait (seconds) for it.
    `tell` hears of each stage. Raises InfraError if the API server fails."""
    result = Removal()
    namespaces = [row for row in rows if row.is_namespace]
    cluster_scoped = [row for row in rows if not row.is_namespace]
    _remove_graphs(api, [row.name for row in namespaces], within=graphs_within, tell=tell)
    _remove_each(api, [r for r in cluster_scoped if r.resource.kind in _FIRST], result, tell)
    # A run's own namespace, which tells that it lives, goes last: an interrupted removal is found.
    namespaces.sort(key=lambda row: row.name.startswith(run_lease.PREFIX))
    _remove_each(api, namespaces, result, tell, within=namespaces_within)
    middle = [r for r in cluster_scoped if r.resource.kind not in (*_FIRST, *_LAST)]
    _remove_each(api, middle, result, tell)
    for kind in _LAST:
        last = [row for row in cluster_scoped if row.resource.kind == kind]
        if kind == "CustomResourceDefinition":
            last = [row for row in last if _unused(api, row, result)]
        _remove_each(api, last, result, tell)
    return result


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
        left = [
            (space, str(meta["name"]))
            for space in namespaces
            for meta in _metadata(api, kind, space)
        ]
        if left:
            tell(f"deleting {len(left)} {kind.kind} so that their finalizers can run")
        for space, name in left:
            _accepted(api, kind, name, space)
        while left and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            left = [(space, name) for space, name in left if api.read(kind, name, space)]


def _metadata(api: Api, kind: Resource, namespace: str) -> Iterator[dict[str, Any]]:
    """Of all objects of a kind; of none where they may not be listed."""
    answer = api.request("GET", kind.path(namespace))
    if answer.ok:
        yield from (item["metadata"] for item in answer.body.get("items") or ())


def _remove_each(
    api: Api,
    rows: Sequence[LeftoverObject],
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


def _still(api: Api, row: LeftoverObject) -> bool:
    stored = api.read(row.resource, row.name)
    return stored is not None and (not row.uid or stored["metadata"]["uid"] == row.uid)


def _unused(api: Api, row: LeftoverObject, result: Removal) -> bool:
    """True if nobody has objects of that CRD: they would go with it."""
    stored = api.read(row.resource, row.name)
    if stored is None:
        return False
    kind = served_by(stored)
    count = len(api.metadata_list(kind)[0]) if kind is not None else 0
    if count:
        result.stuck.append(f"{row} is kept: {count} objects of its kind would go with it")
    return count == 0


def _why(api: Api, row: LeftoverObject) -> str:
    stored = api.read(row.resource, row.name) or {}
    finalizers = (stored.get("metadata") or {}).get("finalizers") or []
    if not row.is_namespace:
        return _finalizer_text(f"{row.resource} {row.name}", finalizers)
    guarded = []
    for kind in api.discover():
        if not kind.namespaced:
            continue
        for meta in _metadata(api, kind, row.name):
            held = meta.get("finalizers") or []
            if held:
                guarded.append(_finalizer_text(f"{kind} {meta['name']} -n {row.name}", held))
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
        rows = leftovers.find(api, run=run)
        if not to_the_end:
            lease = run_lease.namespace_of(run)
            rows = [row for row in rows if row.is_namespace and row.name != lease]
        return remove(api, rows, graphs_within=within, namespaces_within=within)
    except InfraError as error:
        return Removal(stuck=[f"what run {run} made may still be there: {error}"])
