"""What a status says and is not so, whatever Ready says: conditions and states."""

from __future__ import annotations

from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.state.service_maps import service_map
from conformance.judge.state.status import COMPONENT_CONDITIONS, ready_claim, status_mismatch
from conformance.judge.wording import join, noun
from conformance.model.graph import Graph
from conformance.model.state import Obj

_NOT_READY_STATES = ("failed", "pending")
_READY_STATE = "successful"


def false_claims(snapshot: Snapshot) -> list[Mismatch]:
    """Conditions that are Unknown, a state against the Ready condition, components that say Available
    without a ready pod, and maps of services that do not say what is there."""
    found = []
    for graph, root, bare in snapshot.wanted_roots:
        if root is None:
            continue
        services = [service for service in snapshot.present if service.root is root]
        components = [c for service in services for c in service.components if c.uid != root.uid]
        for obj in (root, *components):
            found += _unknown_conditions(obj, graph)
        found += _state(root, graph, snapshot)
        found += [row for service in services for row in _idle(service)]
        for key in () if bare else snapshot.profile.status.service_maps:
            found += service_map(root, key, graph, services, snapshot)
    return found


def idle_claims(snapshot: Snapshot) -> list[Mismatch]:
    """Components that say Available although not one pod of their service is ready."""
    return [row for service in snapshot.services for row in _idle(service)]


def _unknown_conditions(obj: Obj, graph: Graph) -> list[Mismatch]:
    unknown = [
        str(condition.get("type"))
        for condition in obj.status.get("conditions") or ()
        if condition.get("status") == "Unknown"
    ]
    if not unknown:
        return []
    word = "condition" if len(unknown) == 1 else "conditions"
    return [
        status_mismatch(graph, obj, f"{noun(obj)} has {word} {join(unknown)} Unknown", soft=True)
    ]


def _idle(service: ServiceSnapshot) -> list[Mismatch]:
    if service.bare or not service.service.groups or any(pod.ready for pod in service.pods):
        return []
    return [
        status_mismatch(
            service.graph, component,
            f"{noun(component)} says {name}, and no pod of service {service.name} is ready",
            service=service.name,
        )
        for component in service.components
        for name in COMPONENT_CONDITIONS
        if (component.condition(name) or {}).get("status") == "True"
    ]  # fmt: skip


def _state(root: Obj, graph: Graph, snapshot: Snapshot) -> list[Mismatch]:
    state, ready = root.status.get("state"), ready_claim(root, snapshot.profile)
    if ready is True and state in _NOT_READY_STATES:
        text = f"says Ready and state {state} at once"
    elif ready is False and state == _READY_STATE:
        text = f"says that it is not Ready and state {state} at once"
    else:
        return []
    return [status_mismatch(graph, root, f"{noun(root)} {text}")]
