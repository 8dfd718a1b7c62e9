"""Pure functions from observed objects to a status."""

import time
from dataclasses import dataclass

from .objects import (
    LWS,
    Kind,
    Object,
    generation_of,
    is_terminating,
    meta,
    node_count,
    replicas_of,
)

READY = "Ready"
AVAILABLE = "Available"


@dataclass(frozen=True)
class Verdict:
    """Whether something is as wanted; if not, the reason (one word) and a sentence."""

    ok: bool
    reason: str
    message: str


def judge_workload(kind: Kind, workload: Object, spec: Object, pods: int) -> Verdict:
    """Whether a workload runs exactly what the component's spec wants.

    ``pods``: pods below the workload. The counts in its own status are believed only once it has
    observed its newest generation.
    """
    name = f"{kind.kind} {meta(workload)['name']}"
    status: Object = workload.get("status") or {}
    wanted = replicas_of(spec)
    wrong = _wrong_reason(kind)
    if int(status.get("observedGeneration") or 0) < generation_of(workload):
        return Verdict(False, wrong, f"{name} has not observed its newest spec")
    if _condition(workload, "UpdateInProgress") == "True":
        return Verdict(False, "updating", f"{name} is being updated")
    unit = "groups" if kind is LWS else "pods"
    for field, word in (("updatedReplicas", "up to date"), ("readyReplicas", "ready")):
        count = int(status.get(field) or 0)
        if count != wanted:
            return Verdict(False, wrong, f"{name}: {count} of {wanted} {unit} are {word}")
    if int(status.get("replicas") or 0) != wanted:
        return Verdict(False, wrong, f"{name} still has surplus {unit}")
    if kind is LWS and _condition(workload, AVAILABLE) != "True":
        return Verdict(False, wrong, f"{name} is not available")
    wanted_pods = wanted * node_count(spec)
    if pods != wanted_pods:
        return Verdict(False, wrong, f"{name} has {pods} pods, {wanted_pods} are wanted")
    return Verdict(True, _right_reason(kind), f"{name} is ready")


def judge_stale(kind: Kind, workload: Object, spec: Object) -> Verdict:
    """Fault ``stale-ready``: pods of any template count."""
    ready = int((workload.get("status") or {}).get("readyReplicas") or 0)
    if ready >= replicas_of(spec):
        return Verdict(True, _right_reason(kind), f"{ready} replicas are ready")
    return Verdict(False, _wrong_reason(kind), f"{ready} replicas are ready")


def replica_status(kind: Kind, workload: Object) -> Object:
    """The entry of a component in a status, from its workload's status."""
    status: Object = workload.get("status") or {}
    ready = int(status.get("readyReplicas") or 0)
    available = ready if kind is LWS else int(status.get("availableReplicas") or 0)
    return {
        "componentKind": kind.kind,
        "componentNames": [meta(workload)["name"]],
        "replicas": int(status.get("replicas") or 0),
        "updatedReplicas": int(status.get("updatedReplicas") or 0),
        "readyReplicas": ready,
        "availableReplicas": available,
    }


def condition(obj: Object, type_: str, verdict: Verdict) -> Object:
    """The condition to write; its time moves only when its status does."""
    status = "True" if verdict.ok else "False"
    since = None
    for known in (obj.get("status") or {}).get("conditions") or []:
        if known.get("type") == type_ and known.get("status") == status:
            since = known.get("lastTransitionTime")
    return {
        "type": type_,
        "status": status,
        "reason": verdict.reason,
        "message": verdict.message,
        "lastTransitionTime": since or _now(),
    }


def judge_component_object(component: Object | None) -> Verdict:
    """What the status of a component says, if it has observed its newest spec."""
    if component is None:
        return Verdict(False, "some_resources_are_not_ready", "its component is not there yet")
    if is_terminating(component):
        return Verdict(False, "some_resources_are_not_ready", "its component is being deleted")
    status: Object = component.get("status") or {}
    if int(status.get("observedGeneration") or 0) < generation_of(component):
        message = "its component has not observed its newest spec"
        return Verdict(False, "some_resources_are_not_ready", message)
    for known in status.get("conditions") or []:
        if known.get("type") == AVAILABLE:
            ok = known.get("status") == "True"
            return Verdict(ok, str(known.get("reason")), str(known.get("message")))
    return Verdict(False, "some_resources_are_not_ready", "its component says nothing yet")


def restamp(ready: Object) -> float:
    """Fault ``lasttransition-moves``: a new time without a change; returns seconds to the next."""
    ready["lastTransitionTime"] = _now()
    return 1.0


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _right_reason(kind: Kind) -> str:
    return "AllLeaderWorkerSetsReady" if kind is LWS else f"{kind.kind}Ready"


def _wrong_reason(kind: Kind) -> str:
    return "SomeLeaderWorkerSetsNotReady" if kind is LWS else f"{kind.kind}NotReady"


def _condition(obj: Object, type_: str) -> str:
    for known in (obj.get("status") or {}).get("conditions") or []:
        if known.get("type") == type_:
            return str(known.get("status"))
    return ""
