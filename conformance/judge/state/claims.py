"""What a status says and is not so, whatever Ready says: conditions, states, and the maps service →
state, which name services and workloads and count pods."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.judge.mismatch import Mismatch, mismatch
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.state.status import COMPONENT_CONDITIONS, ready_claim
from conformance.judge.wording import count, join, noun, verb
from conformance.model.children import LwsLayout
from conformance.model.graph import Graph
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

_NAME = CheckerName.STATUS_TRUTH
_NOT_READY_STATES = ("failed", "pending")
_READY_STATE = "successful"


def false_claims(snapshot: Snapshot) -> list[Mismatch]:
    """Conditions that are Unknown, a state against the Ready condition, components that say Available
    without a ready pod, and maps of services that do not say what is there."""
    found: list[Mismatch] = []
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
            found += _service_map(root, key, graph, services, snapshot)
    return found


def idle_claims(snapshot: Snapshot) -> list[Mismatch]:
    """Components that say Available although not one pod of their service is ready."""
    return [row for service in snapshot.services for row in _idle(service)]


def _unknown_conditions(obj: Obj, graph: Graph) -> Iterator[Mismatch]:
    conditions = obj.status.get("conditions") or ()
    unknown = [str(one.get("type")) for one in conditions if one.get("status") == "Unknown"]
    if unknown:
        word = verb(len(unknown), "condition", "conditions")
        message = f"{noun(obj)} has {word} {join(unknown)} Unknown"
        yield mismatch(_NAME, message, obj, place=(graph.name, ""), soft=True)


def _idle(service: ServiceSnapshot) -> Iterator[Mismatch]:
    if service.bare or not service.service.groups or any(pod.ready for pod in service.pods):
        return
    for component in service.components:
        for name in COMPONENT_CONDITIONS:
            if (component.condition(name) or {}).get("status") == "True":
                untrue = f"says {name}, and no pod of service {service.name} is ready"
                yield mismatch(_NAME, f"{noun(component)} {untrue}", component, place=service.place)


def _state(root: Obj, graph: Graph, snapshot: Snapshot) -> Iterator[Mismatch]:
    state, ready = root.status.get("state"), ready_claim(root, snapshot.profile)
    place = (graph.name, "")
    if ready is True and state in _NOT_READY_STATES:
        message = f"{noun(root)} says Ready and state {state} at once"
        yield mismatch(_NAME, message, root, place=place)
    if ready is False and state == _READY_STATE:
        message = f"{noun(root)} says that it is not Ready and state {state} at once"
        yield mismatch(_NAME, message, root, place=place)


def _service_map(
    root: Obj, key: str, graph: Graph, services: list[ServiceSnapshot], snapshot: Snapshot
) -> Iterator[Mismatch]:
    """What `status.<key>` of the graph says and is not so. A map that is not there claims nothing."""
    entries = root.status.get(key)
    if not isinstance(entries, Mapping) or not entries:
        return
    names = {service.name for service in graph.services}
    where = f"status.{key} of {noun(root)}"
    for name in sorted(entries.keys() - names):
        message = f"{where} still names service {name}, which the spec does not have"
        yield mismatch(_NAME, message, root, place=(graph.name, name))
    for name in sorted(names - entries.keys()):
        message = f"{where} lacks service {name} of the spec"
        # At zero replicas there is nothing to speak of: untrue, but nothing to wait for.
        soft = not graph.service(name).groups
        yield mismatch(_NAME, message, root, place=(graph.name, name), soft=soft)
    for service in services:
        entry = entries.get(service.name)
        if isinstance(entry, Mapping):
            where = f"status.{key}.{service.name} of {noun(root)}"
            for text in _untrue(entry, service, snapshot):
                yield mismatch(_NAME, f"{where} {text}", root, place=service.place)


def _untrue(
    entry: Mapping[str, Any], service: ServiceSnapshot, snapshot: Snapshot
) -> Iterator[str]:
    """Names that are no workload of the service; counts that are those of neither its groups nor
    its pods."""
    one = entry.get("componentName")
    names = entry.get("componentNames") or ([one] if one else [])
    kind = str(entry.get("componentKind") or "")
    # At zero replicas the workload may be gone, and the entry then has nothing to name.
    if kind and service.service.groups:
        own = {workload.name for workload in service.workloads if workload.kind == kind}
        if not snapshot.runs_services(kind):
            rows = (obj for obj in snapshot.objects if obj.kind == kind)
            own = {obj.name for obj in rows if snapshot.root_of(obj) is service.root}
        for name in names:
            if name not in own:
                yield f"names {kind} {name}, which is not a workload of that service"
    multinode = service.profile.multinode
    # Where each replica is a workload of its own, the name of one stands for them all.
    all_alike = kind == multinode.kind and multinode.layout is LwsLayout.PER_REPLICA
    spoken_of = [
        workload
        for workload in service.workloads
        if (not kind or workload.kind == kind)
        and (not names or all_alike or workload.name in names)
    ]
    pods = [pod for pod in service.live_pods if snapshot.below(pod, spoken_of)]
    ready = sum(pod.ready for pod in pods)
    for field, living, word in (
        ("replicas", len(pods), "pod"),
        ("readyReplicas", ready, "ready pod"),
    ):
        value = entry.get(field)
        low = living // max(1, service.service.size)
        if value is not None and not low <= int(value) <= living:
            there = f"there {verb(living, 'is', 'are')} {count(living, word)}"
            yield f"says {field} {value}, and {there}"
