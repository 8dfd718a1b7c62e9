"""Why an operator's pods are not ready, in one sentence: what a person would look up with kubectl."""

from collections.abc import Mapping
from typing import Any

from conformance.model.errors import InfraError
from conformance.operator.pods.deployed import (
    Deployed,
    Pod,
    exit_of,
    is_ready,
    one_line,
    reason_of,
)

_STARTING = ("ContainerCreating", "PodInitializing", "")


def why_not_ready(deployed: Deployed) -> str:
    """The reason, in the platform's own words. Never raises: something is wrong already."""
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
