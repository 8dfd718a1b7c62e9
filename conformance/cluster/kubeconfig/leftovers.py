"""Objects that runs left in a cluster, found by the suite's label: nothing else is ever touched."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from conformance.cluster.kubeconfig import run_lease
from conformance.cluster.kubeconfig.run_lease import NAMESPACE
from conformance.kube import Api, Resource, raise_for
from conformance.model import labels

_NO_RUN_SECONDS = 6 * 3600.0
"""A namespace that names no run is taken for a living one's for this long after its creation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftoverObject:
    """A namespace, or a cluster-scoped object, of a run. `alive`: the run is still going on."""

    resource: Resource
    name: str
    uid: str
    run: str
    alive: bool

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
    selector = ",".join(f"{key}={value}" for key, value in labels.of_run(run or "").items())
    answer = api.request("GET", NAMESPACE.path(), params={"labelSelector": selector})
    namespaces: list[dict[str, Any]] = raise_for(answer, "listing namespaces").body["items"]
    now = run_lease.server_time(answer)
    going_on = {
        _run_of(item)
        for item in namespaces
        if item["metadata"]["name"] == run_lease.namespace_of(_run_of(item))
        and run_lease.alive(api, item)
    }
    found = [(NAMESPACE, item) for item in namespaces]
    for resource in api.discover():
        if not resource.namespaced and resource.kind != NAMESPACE.kind:
            listed = api.request("GET", resource.path(), params={"labelSelector": selector})
            items = (listed.body.get("items") or ()) if listed.ok else ()
            found += [(resource, item) for item in items]
    return [
        LeftoverObject(
            resource=resource,
            name=str(item["metadata"]["name"]),
            uid=str(item["metadata"]["uid"]),
            run=_run_of(item),
            alive=_run_of(item) in going_on or (resource == NAMESPACE and _is_young(item, now)),
        )
        for resource, item in found
    ]


def _is_young(item: dict[str, Any], now: datetime.datetime) -> bool:
    created = datetime.datetime.fromisoformat(item["metadata"]["creationTimestamp"])
    return not _run_of(item) and (now - created).total_seconds() < _NO_RUN_SECONDS


def _run_of(item: dict[str, Any]) -> str:
    return str((item["metadata"].get("labels") or {}).get(labels.RUN) or "")
