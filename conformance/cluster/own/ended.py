"""Operators that a run stopped and, since it was killed, never started again: found, and started.

A case that stops the operator scales its Deployment to 0 and back. Who kills the run in between leaves
the cluster without an operator, and with nothing that a label would find: the note of the end on that
Deployment tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.kube import Api, Resource
from conformance.model import labels
from conformance.model.errors import InfraError

_DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A Deployment that was scaled to 0, and what to."""

    namespace: str
    name: str
    replicas: int

    def __str__(self) -> str:
        return f"Deployment {self.name} in namespace {self.namespace}"


def find(api: Api) -> list[Ended]:
    """All in the cluster; none where its Deployments may not be listed."""
    answer = api.request("GET", _DEPLOYMENTS.path())
    rows = (answer.body.get("items") or ()) if answer.ok else ()
    return [row for row in map(_ended, rows) if row is not None]


def read(api: Api, namespace: str, name: str) -> Ended | None:
    """That Deployment, if it is one; None also where it may not be read."""
    answer = api.request("GET", _DEPLOYMENTS.path(namespace, name))
    return _ended(answer.body) if answer.ok else None


def start(api: Api, row: Ended) -> str:
    """Scale it back, without waiting. Why that was refused, or empty."""
    body = {"metadata": {"annotations": {labels.ENDED: None}}, "spec": {"replicas": row.replicas}}
    try:
        answer = api.patch(_DEPLOYMENTS, row.name, body, row.namespace)
    except InfraError as error:
        return str(error)
    return "" if answer.ok else f"{answer.code} {answer.message}"


def _ended(deployment: dict[str, Any]) -> Ended | None:
    meta = deployment["metadata"]
    note = str((meta.get("annotations") or {}).get(labels.ENDED) or "")
    if not note or deployment["spec"].get("replicas") != 0:
        return None
    replicas = note.rpartition(" ")[2]
    return Ended(
        namespace=str(meta["namespace"]),
        name=str(meta["name"]),
        replicas=int(replicas) if replicas.isdecimal() else 1,
    )
