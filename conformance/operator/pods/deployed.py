"""The operator's Deployment and pods, as the API server shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.kube import Api, raise_for
from conformance.model.state import Obj
from conformance.operator.resources import DEPLOYMENTS, EVENTS, PODS


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which Deployment is the operator, and how to start it. Plain data, for other processes too."""

    operator: str
    namespace: str
    deployment: str
    container: str
    replicas: int
    """As installed: what a start scales to."""
    selector: str
    grace: float
    """Seconds that its pods may take to end in an orderly way."""
    ready_within: float
    """Seconds from a start to readiness."""

    @classmethod
    def of(cls, deployment: Obj, *, operator: str, container: str, ready_within: float) -> Target:
        """From the stored Deployment."""
        grace = deployment.at("spec", "template", "spec", "terminationGracePeriodSeconds")
        return cls(
            operator=operator,
            namespace=deployment.namespace,
            deployment=deployment.name,
            container=container,
            replicas=deployment.spec.get("replicas") or 1,
            selector=selector(deployment.spec.get("selector") or {}),
            grace=30.0 if grace is None else float(grace),
            ready_within=ready_within,
        )


class Pod(Obj):
    """A pod of the operator."""

    __slots__ = ("own",)

    def __init__(self, raw: Mapping[str, Any], *, container: str) -> None:
        super().__init__(raw)
        rows = self.status.get("containerStatuses") or ()
        self.own: Mapping[str, Any] = next((r for r in rows if r.get("name") == container), {})
        """The status of the operator's own container; empty before it has one."""

    @property
    def running(self) -> bool:
        """True if its own container runs just now."""
        return "running" in (self.own.get("state") or {})


class Deployed:
    """Reads one operator's Deployment and pods."""

    def __init__(self, api: Api, target: Target) -> None:
        self.api = api
        self.target = target

    def deployment(self) -> Obj | None:
        """The Deployment, None if it is gone. Raises InfraError."""
        found = self.api.read(DEPLOYMENTS, self.target.deployment, self.target.namespace)
        return Obj(found) if found else None

    def pods(self) -> list[Pod]:
        """Its pods, those that are going among them. Raises InfraError."""
        path, query = PODS.path(self.target.namespace), {"labelSelector": self.target.selector}
        found, _ = self.api.list(path, query)
        return [Pod(pod, container=self.target.container) for pod in found]

    def warnings(self, name: str) -> list[str]:
        """Warning events about an object of its namespace, the newest last; none if unreadable."""
        query = f"type=Warning,involvedObject.name={name}"
        path = EVENTS.path(self.target.namespace)
        answer = self.api.request("GET", path, params={"fieldSelector": query})
        items = (answer.body.get("items") or []) if answer.ok else []
        items.sort(key=lambda item: str(item.get("lastTimestamp") or item.get("eventTime") or ""))
        return [reason_of(item) for item in items]

    def last_line(self, pod: str, container: str = "") -> str:
        """The last line of a container (empty: the operator's own); empty if unreadable."""
        params = {"container": container or self.target.container, "tailLines": "1"}
        path = PODS.path(self.target.namespace, pod, "log")
        for previous in (None, True):
            answer = self.api.request("GET", path, params={**params, "previous": previous})
            if answer.ok and answer.body:
                return one_line(answer.body)
        return ""

    def delete_pod(self, pod: Obj, *, grace: int) -> None:
        """Delete exactly this pod. One that is gone is fine. Raises InfraError."""
        options = {"gracePeriodSeconds": grace, "preconditions": {"uid": pod.uid}}
        body = {"kind": "DeleteOptions", "apiVersion": "v1", **options}
        answer = self.api.request("DELETE", PODS.path(self.target.namespace, pod.name), body)
        if answer.code not in (404, 409):
            raise_for(answer, f"deleting pod {pod.name}")


def selector(spec: Mapping[str, Any]) -> str:
    """A label selector as a query parameter."""
    parts = [f"{key}={value}" for key, value in (spec.get("matchLabels") or {}).items()]
    for row in spec.get("matchExpressions") or ():
        key, values = row["key"], ",".join(row.get("values") or ())
        words = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})"}
        parts.append({**words, "Exists": key, "DoesNotExist": f"!{key}"}[row["operator"]])
    return ",".join(parts)


def is_ready(deployment: Obj) -> bool:
    """True if every pod of the newest template is available, and no other pod is left."""
    wanted = deployment.spec.get("replicas", 1)
    names = ("replicas", "updatedReplicas", "availableReplicas")
    counts = {deployment.status.get(name, 0) for name in names}
    return is_observed(deployment) and wanted > 0 and counts == {wanted}


def is_observed(deployment: Obj) -> bool:
    """True if its controller has seen its present spec."""
    return (deployment.observed_generation or 0) >= deployment.generation


def exit_of(terminated: Mapping[str, Any]) -> str:
    """Exit code and reason of a terminated state, such as `exit code 137 (OOMKilled)`."""
    reason = str(terminated.get("reason") or "")
    more = "" if reason in ("", "Error", "Completed") else f" ({reason})"
    return f"exit code {terminated.get('exitCode')}{more}"


def one_line(text: Any) -> str:
    """A message on one line, and not too long."""
    return " ".join(str(text or "").split())[:300]


def reason_of(said: Mapping[str, Any]) -> str:
    """Reason and message of a condition or an event."""
    return f"{said.get('reason')}: {one_line(said.get('message'))}"
