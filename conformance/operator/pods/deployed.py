"""The operator's Deployment and pods, as the API server shows them, and why they are not ready."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.kube import Api, raise_for
from conformance.kube.resource import DEPLOYMENTS, EVENTS, PODS
from conformance.model.errors import InfraError
from conformance.model.state import Obj

_STARTING = ("ContainerCreating", "PodInitializing", "")


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


@dataclass(eq=False)
class Deployed:
    """Reads one operator's Deployment and pods."""

    api: Api
    target: Target

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
        for previous in (False, True):
            answer = self.api.request("GET", path, params={**params, "previous": previous})
            if answer.ok and answer.body:
                return one_line(answer.body)
        return ""

    def delete_pod(self, pod: Obj, *, grace: int) -> None:
        """Delete exactly this pod. One that is gone is fine. Raises InfraError."""
        answer = self.api.delete(PODS, pod.name, self.target.namespace, uid=pod.uid, grace=grace)
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


def why_not_ready(deployed: Deployed) -> str:
    """The reason in one sentence and in the platform's own words, as a person would look it up with
    kubectl. Never raises: something is wrong already."""
    try:
        return _why_not_ready(deployed)
    except InfraError as error:
        return f"and its state could not be read: {error}"


def _why_not_ready(deployed: Deployed) -> str:
    target, deployment = deployed.target, deployed.deployment()
    if deployment is None:
        return f"the Deployment {target.deployment} is gone from namespace {target.namespace}"
    failure = deployment.condition("ReplicaFailure") or {}
    if failure.get("status") == "True":
        return f"its pods cannot be made ({reason_of(failure)})"
    pods = [pod for pod in deployed.pods() if not pod.deleting]
    if not pods:
        conditions = deployment.status.get("conditions") or ()
        said = next((one_line(c.get("message")) for c in conditions), "nothing was said why")
        return f"it has no pod ({said})"
    pods.sort(key=lambda pod: pod.created, reverse=True)
    state = "ready now" if is_ready(deployment) else "not all available yet"
    reasons = filter(None, (_of_pod(deployed, pod) for pod in pods))
    return next(reasons, f"its pods run and are {state}")


def _of_pod(deployed: Deployed, pod: Pod) -> str:
    """What is wrong with one pod; empty if it is ready."""
    scheduled = pod.condition("PodScheduled") or {}
    if scheduled.get("status") == "False":
        return f"its pod {pod.name} is Pending ({reason_of(scheduled)})"
    for field in ("initContainerStatuses", "containerStatuses"):
        for row in pod.status.get(field) or ():
            if found := _of_container(deployed, pod.name, row):
                return found
    if pod.ready:
        return ""
    warned = deployed.warnings(pod.name)
    said = f" ({warned[-1]})" if warned else ""
    if pod.running:
        return f"its pod {pod.name} runs but is not ready{said}{_last_line(deployed, pod.name)}"
    return f"its pod {pod.name} is {pod.status.get('phase') or 'not seen by a node yet'}{said}"


def _of_container(deployed: Deployed, pod: str, row: Mapping[str, Any]) -> str:
    state, name = row.get("state") or {}, str(row["name"])
    waiting, ended = state.get("waiting") or {}, state.get("terminated")
    where, reason = f"container {name} of its pod {pod}", str(waiting.get("reason") or "")
    if reason not in _STARTING:
        last = (row.get("lastState") or {}).get("terminated")
        if reason == "CrashLoopBackOff" and last:
            return f"{where} is in {reason} after {exit_of(last)}{_last_line(deployed, pod, name)}"
        return f"{where} waits in {reason} ({one_line(waiting.get('message')) or 'nothing said'})"
    # Others end well when their work is done, the operator's own never does.
    own = name == deployed.target.container
    if ended and (ended.get("exitCode") or (own and not row.get("ready"))):
        return f"{where} ended: {exit_of(ended)}{_last_line(deployed, pod, name)}"
    return ""


def _last_line(deployed: Deployed, pod: str, container: str = "") -> str:
    line = deployed.last_line(pod, container)
    return f"; its last line: {line}" if line else ""
