"""Objects that runs left in a cluster, found by the suite's label: nothing else is ever touched."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from conformance.cluster.kubeconfig import run_lease
from conformance.kube import Api, Resource, raise_for
from conformance.model import labels

NAMESPACE = Resource("", "v1", "namespaces", "Namespace", False)

_NO_RUN_SECONDS = 6 * 3600.0
"""A namespace that names no run is taken for a living one's for this long after its creation."""
_SELECTOR = f"{labels.OWNED}=true"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftoverObject:
    """A namespace, or a cluster-scoped object, of a run. `alive`: the run is still going on."""

    resource: Resource
    name: str
    run: str
    alive: bool
    uid: str = ""

    @property
    def is_namespace(self) -> bool:
        return self.resource.kind == NAMESPACE.kind

    def __str__(self) -> str:
        run = f"run {self.run}" if self.run else "a run without an id"
        state = ", which is going on" if self.alive else ""
        return f"{self.resource.kind} {self.name} (of {run}{state})"


def find(api: Api, *, run: str | None = None) -> list[LeftoverObject]:
    """All labelled namespaces and cluster-scoped objects, of one run if it is named. Kinds that the
    user may not list are passed over. Raises InfraError if namespaces may not be listed."""
    selector = _SELECTOR if run is None else f"{_SELECTOR},{labels.RUN}={run}"
    answer = api.request("GET", NAMESPACE.path(), params={"labelSelector": selector})
    namespaces: list[dict[str, Any]] = raise_for(answer, "listing namespaces").body["items"]
    now = run_lease.server_time(answer).timestamp()
    going_on = _living_runs(api, namespaces)
    rows = [
        _row(NAMESPACE, item, alive=_run_of(item) in going_on or _is_young(item, now))
        for item in namespaces
    ]
    for resource in api.discover():
        if resource.namespaced or resource.kind == NAMESPACE.kind:
            continue
        listed = api.request("GET", resource.path(), params={"labelSelector": selector})
        for item in (listed.body.get("items") or ()) if listed.ok else ():
            rows.append(_row(resource, item, alive=_run_of(item) in going_on))
    return rows


def _living_runs(api: Api, namespaces: Iterable[dict[str, Any]]) -> set[str]:
    return {
        run
        for item in namespaces
        if (run := _run_of(item))
        and item["metadata"]["name"] == run_lease.namespace_of(run)
        and run_lease.alive(api, item)
    }


def _is_young(item: dict[str, Any], now: float) -> bool:
    created = datetime.datetime.fromisoformat(item["metadata"]["creationTimestamp"]).timestamp()
    return not _run_of(item) and now - created < _NO_RUN_SECONDS


def _run_of(item: dict[str, Any]) -> str:
    return str((item["metadata"].get("labels") or {}).get(labels.RUN) or "")


def _row(resource: Resource, item: dict[str, Any], *, alive: bool) -> LeftoverObject:
    meta = item["metadata"]
    return LeftoverObject(
        resource=resource,
        name=str(meta["name"]),
        run=_run_of(item),
        alive=alive,
        uid=str(meta["uid"]),
    )
