"""What killed runs left in a cluster: objects, found by the suite's label (nothing else is touched),
and operators that a case had scaled to 0, found by an annotation."""

from dataclasses import dataclass
from typing import Any

from conformance.cluster.kubeconfig import run_lease
from conformance.cluster.kubeconfig.contexts import Context
from conformance.kube import Api, Resource, raise_for
from conformance.kube.resource import DEPLOYMENTS, NAMESPACES
from conformance.model import labels
from conformance.model.errors import InfraError, UsageError
from conformance.model.installs import ClusterInstall

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
        return self.resource.kind == NAMESPACES.kind

    def __str__(self) -> str:
        run = f"run {self.run}" if self.run else "a run without an id"
        state = ", which is going on" if self.alive else ""
        return f"{self.resource.kind} {self.name} (of {run}{state})"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedOperator:
    """A Deployment that was scaled to 0, and what from."""

    namespace: str
    name: str
    replicas: int

    def __str__(self) -> str:
        return f"Deployment {self.name} in namespace {self.namespace}"


def find(api: Api, *, run: str | None = None) -> list[LeftoverObject]:
    """All labelled namespaces and cluster-scoped objects, of one run if it is named. Kinds that the
    user may not list are passed over. Raises InfraError if namespaces may not be listed."""
    selector = ",".join(f"{key}={value}" for key, value in labels.of_run(run or "").items())
    answer = api.request("GET", NAMESPACES.path(), params={"labelSelector": selector})
    namespaces: list[dict[str, Any]] = raise_for(answer, "listing namespaces").body["items"]
    now = run_lease.server_time(answer)
    going_on = {
        _run_of(item)
        for item in namespaces
        if item["metadata"]["name"] == run_lease.namespace_of(_run_of(item))
        and run_lease.alive(api, item)
    }

    def row(resource: Resource, item: dict[str, Any]) -> LeftoverObject:
        meta, run = item["metadata"], _run_of(item)
        alive = run in going_on
        if not run and resource == NAMESPACES:
            alive = run_lease.age(meta["creationTimestamp"], now) < _NO_RUN_SECONDS
        return LeftoverObject(
            resource=resource, name=meta["name"], uid=meta["uid"], run=run, alive=alive
        )

    found = [row(NAMESPACES, item) for item in namespaces]
    for resource in api.discover():
        if not resource.namespaced and resource.kind != NAMESPACES.kind:
            found += [row(resource, item) for item in listed(api, resource.path(), selector)]
    return found


def listed(api: Api, path: str, selector: str = "") -> list[dict[str, Any]]:
    """The objects of a collection; none where they may not be listed."""
    answer = api.request("GET", path, params={"labelSelector": selector} if selector else None)
    return list(answer.body.get("items") or ()) if answer.ok else []


def stopped_operators(api: Api) -> list[StoppedOperator]:
    """All in the cluster; none where its Deployments may not be listed."""
    rows = map(_stopped, listed(api, DEPLOYMENTS.path()))
    return [row for row in rows if row is not None]


def start(api: Api, row: StoppedOperator) -> str:
    """Scale it back, without waiting. Why that was refused, or empty."""
    body = {"metadata": {"annotations": {labels.ENDED: None}}, "spec": {"replicas": row.replicas}}
    try:
        answer = api.patch(DEPLOYMENTS, row.name, body, row.namespace)
    except InfraError as error:
        return str(error)
    return "" if answer.ok else f"{answer.code} {answer.message}"


def require_running(api: Api, pods: ClusterInstall, context: Context) -> None:
    """Raises UsageError if the operator's Deployment is one that a killed run had stopped."""
    answer = api.request("GET", DEPLOYMENTS.path(pods.namespace, pods.deployment))
    row = _stopped(answer.body) if answer.ok else None
    if row is not None:
        raise UsageError(
            f"the operator does not run: a run that was killed had scaled its {row} to 0; start it "
            f"again with {context.cleanup}"
        )


def require_none_left(
    crashed: list[LeftoverObject], pods: ClusterInstall, context: Context
) -> None:
    """Raises UsageError if a killed run left an operator that it had installed: a new installation
    would take it over, half of it with the old certificate."""
    left = [row for row in crashed if not row.is_namespace or row.name == pods.namespace]
    if left:
        more = f" and {len(left) - 1} more" if left[1:] else ""
        raise UsageError(
            f"a run that was killed left its operator in the cluster ({left[0]}{more}); before "
            f"--install-operator remove it with {context.cleanup}"
        )


def _stopped(deployment: dict[str, Any]) -> StoppedOperator | None:
    meta = deployment["metadata"]
    note = str((meta.get("annotations") or {}).get(labels.ENDED) or "")
    if not note or deployment["spec"].get("replicas") != 0:
        return None
    said = note.rpartition(" ")[2]
    replicas = int(said) if said.isdecimal() else 1
    return StoppedOperator(namespace=meta["namespace"], name=meta["name"], replicas=replicas)


def _run_of(item: dict[str, Any]) -> str:
    return str((item["metadata"].get("labels") or {}).get(labels.RUN) or "")
