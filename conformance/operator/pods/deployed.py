"""The operator's Deployment and pods, as the API server shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.kube import Api, raise_for
from conformance.operator.resources import DEPLOYMENTS, EVENTS, PODS

Raw = dict[str, Any]


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
    def of(
        cls, deployment: Mapping[str, Any], *, operator: str, container: str, ready_within: float
    ) -> Target:
        """From the stored Deployment."""
        spec, metadata = deployment["spec"], deployment["metadata"]
        grace = (spec["template"].get("spec") or {}).get("terminationGracePeriodSeconds")
        return cls(
            operator=operator,
            namespace=metadata["namespace"],
            deployment=metadata["name"],
            container=container,
            replicas=int(spec.get("replicas") or 0) or 1,
            selector=selector(spec.get("selector") or {}),
            grace=30.0 if grace is None else float(grace),
            ready_within=ready_within,
        )


class Deployed:
    """Reads one operator's Deployment and pods."""

    def __init__(self, api: Api, target: Target) -> None:
        self.api = api
        self.target = target

    def deployment(self) -> Raw | None:
        """The Deployment, None if it is gone. Raises InfraError."""
        return self.api.read(DEPLOYMENTS, self.target.deployment, self.target.namespace)

    def pods(self) -> list[Raw]:
        """Its pods, those that are going among them. Raises InfraError."""
        path, query = PODS.path(self.target.namespace), {"labelSelector": self.target.selector}
        return self.api.list(path, query)[0]

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

    def delete_pod(self, pod: Mapping[str, Any], *, grace: int) -> None:
        """Delete exactly this pod. One that is gone is fine. Raises InfraError."""
        name = str(pod["metadata"]["name"])
        options = {"gracePeriodSeconds": grace, "preconditions": {"uid": pod["metadata"]["uid"]}}
        body = {"kind": "DeleteOptions", "apiVersion": "v1", **options}
        answer = self.api.request("DELETE", PODS.path(self.target.namespace, name), body)
        if answer.code not in (404, 409):
            raise_for(answer, f"deleting pod {name}")


def selector(spec: Mapping[str, Any]) -> str:
    """A label selector as a query parameter."""
    parts = [f"{key}={value}" for key, value in (spec.get("matchLabels") or {}).items()]
    for row in spec.get("matchExpressions") or ():
        key, values = row["key"], ",".join(row.get("values") or ())
        words = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})"}
        parts.append({**words, "Exists": key, "DoesNotExist": f"!{key}"}[row["operator"]])
    return ",".join(parts)


def is_ready(deployment: Mapping[str, Any]) -> bool:
    """True if every pod of the newest template is available, and no other pod is left."""
    spec, status = deployment.get("spec") or {}, deployment.get("status") or {}
    wanted = int(1 if spec.get("replicas") is None else spec["replicas"])
    names = ("replicas", "updatedReplicas", "availableReplicas")
    counts = {int(status.get(name) or 0) for name in names}
    return is_observed(deployment) and wanted > 0 and counts == {wanted}


def is_observed(deployment: Mapping[str, Any]) -> bool:
    """True if its controller has seen its present spec."""
    seen = (deployment.get("status") or {}).get("observedGeneration") or 0
    return int(seen) >= int(deployment["metadata"]["generation"])


def container_status(pod: Mapping[str, Any], container: str) -> Raw:
    """The status of one container of a pod; empty before it has one."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return next((dict(row) for row in statuses if row.get("name") == container), {})


def is_going(pod: Mapping[str, Any]) -> bool:
    """True once its deletion was asked for."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_running(pod: Mapping[str, Any], container: str) -> bool:
    """True if the container runs just now."""
    return "running" in (container_status(pod, container).get("state") or {})


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
