"""Each component Service selects its own ready routable pods, all of them, and nobody else's.

Routable are single-node pods and the leaders of groups: followers answer no requests (F18).
"""

import fnmatch
from collections.abc import Iterator

from conformance.judge.mismatch import Mismatch, mismatch
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.wording import noun, nouns
from conformance.model.exemptions import ServiceClass, ServiceRule
from conformance.model.kinds import WORKLOADS, takes_requests, workload_kind
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

_NAME = CheckerName.SELECTORS


def selectors(snapshot: Snapshot) -> list[Mismatch]:
    """Services that miss their own pods, hit others', or are not declared in the profile."""
    found: list[Mismatch] = []
    placed: set[str] = set()
    for service in snapshot.services:
        for endpoint in service.endpoints:
            placed.add(endpoint.uid)
            found += _component_service(endpoint, service, snapshot)
    for obj in snapshot.objects:
        if obj.kind != "Service" or obj.group or obj.uid in placed:
            continue
        owner = next(iter(snapshot.chain(obj)), None)
        row = workload_kind(owner) if owner is not None else None
        if owner is not None and row is not None and row.index_label:
            found += _headless(obj, owner, snapshot)
        elif snapshot.root_of(obj) and snapshot.by_operator(obj) and not _rule(obj, snapshot):
            found.append(_undeclared(obj, (snapshot.places[obj.uid].graph, "")))
    return found


def _rule(endpoint: Obj, snapshot: Snapshot) -> ServiceRule | None:
    """The profile's first rule that the Service matches, None if it is not declared."""
    place = snapshot.places[endpoint.uid]
    for rule in snapshot.profile.services:
        name = rule.name.format(
            component=place.component, graph=place.graph, service=place.service.lower()
        )
        if rule.use is not ServiceClass.COMPONENT and place.component == endpoint.name:
            # No rule takes a component's own Service out of judgement.
            continue
        if rule.name and not fnmatch.fnmatchcase(endpoint.name, name):
            continue
        if all(endpoint.labels.get(key) == value for key, value in rule.labels.items()):
            return rule
    return None


def _component_service(
    endpoint: Obj, service: ServiceSnapshot, snapshot: Snapshot
) -> Iterator[Mismatch]:
    rule = _rule(endpoint, snapshot)
    if rule is None:
        yield _undeclared(endpoint, service.place)
    if rule is None or rule.use is not ServiceClass.COMPONENT:
        return
    hit = _selected(endpoint, snapshot)
    own = [pod for pod in service.live_pods if takes_requests(pod)]
    # Pods of a left-over workload of the other kind are coexistence: they may be selected or not.
    current = [pod for pod in service.pods if snapshot.below(pod, service.right)]
    missed = [
        pod for pod in own if pod.ready and pod not in hit and (pod in current or not current)
    ]
    strange = [pod for pod in hit if pod not in own]
    of = f"{noun(endpoint)} of service {service.name}"
    if missed:
        message = f"{of} does not select its own {nouns(missed)}"
        yield mismatch(_NAME, message, endpoint, *missed, place=service.place)
    if strange:
        followers = all(pod in service.pods for pod in strange)
        whose = "no leader of a group" if followers else "not of this service"
        message = f"{of} selects {nouns(strange)}, {whose}"
        yield mismatch(_NAME, message, endpoint, *strange, place=service.place)


def _selected(endpoint: Obj, snapshot: Snapshot) -> list[Obj]:
    """The pods that the Service selects. An empty selector selects nothing (Service API)."""
    selector = endpoint.spec.get("selector") or {}
    if not selector:
        return []
    pods = snapshot.state.select("Pod", selector, endpoint.namespace)
    return [pod for pod in pods if pod in snapshot.objects and not pod.deleting]


def _headless(endpoint: Obj, workload: Obj, snapshot: Snapshot) -> list[Mismatch]:
    """The Service that a controller of groups makes for all pods of a workload."""
    hit = _selected(endpoint, snapshot)
    below = [
        pod
        for pod in snapshot.objects
        if pod.kind == "Pod" and not pod.deleting and snapshot.below(pod, [workload])
    ]
    wrong = [pod for pod in hit if pod not in below] + [pod for pod in below if pod not in hit]
    if not wrong:
        return []
    place = snapshot.places[endpoint.uid]
    whose = f"{noun(workload)} of service {place.service}"
    lacks = f"does not select exactly that workload's pods ({nouns(wrong)})"
    return [
        mismatch(
            _NAME, f"headless {noun(endpoint)} of {whose} {lacks}", endpoint, workload,
            place=(place.graph, place.service), blame=WORKLOADS[workload.kind].filled_by,
        )
    ]  # fmt: skip


def _undeclared(endpoint: Obj, place: tuple[str, str]) -> Mismatch:
    of = f" of service {place[1]}" if place[1] else ""
    message = f"{noun(endpoint)}{of} is of no class that the profile declares under `services`"
    return mismatch(_NAME, message, endpoint, place=place)
