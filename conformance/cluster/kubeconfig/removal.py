"""Removal of leftover objects: graphs first, so that a living operator can run their finalizers. One
that nobody runs is told and not taken away, since it may guard something outside the cluster."""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.cluster.kubeconfig import leftovers, run_lease
from conformance.cluster.kubeconfig.leftovers import LeftoverObject
from conformance.kube import Api, Resource, served_by
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP

GRAPHS_SECONDS = 60.0
"""For graphs and what is below them: 9-13 s were seen for a foreground deletion."""
NAMESPACES_SECONDS = 120.0
"""For namespaces: kube-controller-manager empties some ten at a time."""
_POLL_SECONDS = 0.25

_CRD = "CustomResourceDefinition"
# When a kind goes; 2 for all others. A webhook without its server refuses the deletion of others; a
# CRD takes all objects of its kind along; roles are what an operator cleans up with.
_STAGES = {
    "ValidatingWebhookConfiguration": 0,
    "MutatingWebhookConfiguration": 0,
    "Namespace": 1,
    _CRD: 3,
    "ClusterRoleBinding": 4,
    "ClusterRole": 5,
}


@dataclass(slots=True)
class Removal:
    """What became of leftover objects. `stuck` says in a sentence each what is still there, and why."""

    removed: list[LeftoverObject] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)


def remove(
    api: Api,
    rows: Sequence[LeftoverObject],
    *,
    namespaces_within: float = NAMESPACES_SECONDS,
    tell: Callable[[str], None] = lambda _: None,
) -> Removal:
    """Remove these, in the order that lets controllers do their part, and wait (seconds) for it. `tell`
    hears of each stage. Raises InfraError."""
    result = Removal()
    _remove_graphs(api, rows, tell=tell)
    for _, stage in itertools.groupby(sorted(rows, key=_order), key=_stage):
        wanted = [row for row in stage if row.resource.kind != _CRD or _unused(api, row, result)]
        if wanted:
            kinds = ", ".join(dict.fromkeys(row.resource.kind for row in wanted))
            tell(f"deleting {len(wanted)} {kinds}")
            seconds = namespaces_within if wanted[0].is_namespace else GRAPHS_SECONDS
            _remove_each(api, wanted, result, within=seconds)
    return result


def _stage(row: LeftoverObject) -> int:
    return _STAGES.get(row.resource.kind, 2)


def _order(row: LeftoverObject) -> tuple[int, bool]:
    """A run's own namespace, which tells that it lives, goes last: an interrupted removal is found."""
    return _stage(row), row.is_namespace and row.name.startswith(run_lease.PREFIX)


def _remove_graphs(
    api: Api, rows: Sequence[LeftoverObject], *, tell: Callable[[str], None]
) -> None:
    """Delete graphs and bare components, and wait until they are gone or time is up."""
    served = {kind.kind: kind for kind in api.discover() if kind.group == GROUP}
    end = time.monotonic() + GRAPHS_SECONDS
    # Graphs before components: an operator makes a component anew while its graph is there.
    for kind in (served[name] for name in (GRAPH_KIND, COMPONENT_KIND) if name in served):
        found = [
            (kind, str(meta["name"]), row.name)
            for row in rows
            if row.is_namespace
            for meta in _metadata(api, kind, row)
        ]
        if found:
            tell(f"deleting {len(found)} {kind.kind} so that their finalizers can run")
        for each in found:
            api.delete(*each)
        while (found := [each for each in found if api.read(*each)]) and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)


def _metadata(api: Api, kind: Resource, namespace: LeftoverObject) -> list[dict[str, Any]]:
    return [item["metadata"] for item in leftovers.listed(api, kind.path(namespace.name))]


def _remove_each(
    api: Api, rows: Sequence[LeftoverObject], result: Removal, *, within: float
) -> None:
    accepted = []
    for row in rows:
        answer = api.delete(row.resource, row.name, uid=row.uid)
        if answer.ok or answer.code == 404:
            accepted.append(row)
        else:
            problem = f"the deletion was answered {answer.code} {answer.message}"
            result.stuck.append(f"{row} is still there: {problem}")

    def there(row: LeftoverObject) -> bool:
        stored = api.read(row.resource, row.name)
        return stored is not None and stored["metadata"]["uid"] == row.uid

    left, end = accepted, time.monotonic() + within
    while (left := [row for row in left if there(row)]) and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
    result.removed += [row for row in accepted if row not in left]
    result.stuck += [f"{row} is still there {within:.0f} s later: {_why(api, row)}" for row in left]


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
    if not row.is_namespace:
        finalizers = (stored.get("metadata") or {}).get("finalizers") or []
        return _finalizer_text(f"{row.resource} {row.name}", finalizers)
    guarded = [
        _finalizer_text(f"{kind} {meta['name']} -n {row.name}", meta["finalizers"])
        for kind in api.discover()
        if kind.namespaced
        for meta in _metadata(api, kind, row)
        if meta.get("finalizers")
    ]
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
