"""Operators that a killed run left scaled to 0, or installed: found, scaled back up, and not used so.

A case scales the operator's Deployment to 0 and back. If the run is killed in between, an annotation of
that Deployment tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from conformance.cluster.kubeconfig.contexts import CONTEXT_OPTION
from conformance.cluster.kubeconfig.leftovers import LeftoverObject
from conformance.kube import Api, Resource
from conformance.model import labels
from conformance.model.errors import InfraError, UsageError
from conformance.model.installs import ClusterInstall

_DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedOperator:
    """A Deployment that was scaled to 0, and what to."""

    namespace: str
    name: str
    replicas: int

    def __str__(self) -> str:
        return f"Deployment {self.name} in namespace {self.namespace}"


def find(api: Api) -> list[StoppedOperator]:
    """All in the cluster; none where its Deployments may not be listed."""
    answer = api.request("GET", _DEPLOYMENTS.path())
    rows = (answer.body.get("items") or ()) if answer.ok else ()
    return [row for row in map(_stopped, rows) if row is not None]


def start(api: Api, row: StoppedOperator) -> str:
    """Scale it back, without waiting. Why that was refused, or empty."""
    body = {"metadata": {"annotations": {labels.ENDED: None}}, "spec": {"replicas": row.replicas}}
    try:
        answer = api.patch(_DEPLOYMENTS, row.name, body, row.namespace)
    except InfraError as error:
        return str(error)
    return "" if answer.ok else f"{answer.code} {answer.message}"


def require_running(api: Api, pods: ClusterInstall, *, context: str) -> None:
    """Raises UsageError if the operator's Deployment is one that a killed run had stopped."""
    answer = api.request("GET", _DEPLOYMENTS.path(pods.namespace, pods.deployment))
    row = _stopped(answer.body) if answer.ok else None
    if row is not None:
        raise UsageError(
            f"the operator does not run: a run that was killed had scaled its {row} to 0; start it "
            f"again with python -m conformance cleanup {CONTEXT_OPTION}={context}"
        )


def require_none_left(
    crashed: Iterable[LeftoverObject], pods: ClusterInstall, *, context: str
) -> None:
    """Raises UsageError if a killed run left an operator that it had installed: a new installation
    would take it over, half of it with the old certificate."""
    left = [row for row in crashed if not row.is_namespace or row.name == pods.namespace]
    if left:
        more = f" and {len(left) - 1} more" if left[1:] else ""
        raise UsageError(
            f"a run that was killed left its operator in the cluster ({left[0]}{more}); before "
            "--install-operator remove it with "
            f"python -m conformance cleanup {CONTEXT_OPTION}={context}"
        )


def _stopped(deployment: dict[str, Any]) -> StoppedOperator | None:
    meta = deployment["metadata"]
    note = str((meta.get("annotations") or {}).get(labels.ENDED) or "")
    if not note or deployment["spec"].get("replicas") != 0:
        return None
    replicas = note.rpartition(" ")[2]
    return StoppedOperator(
        namespace=str(meta["namespace"]),
        name=str(meta["name"]),
        replicas=int(replicas) if replicas.isdecimal() else 1,
    )
