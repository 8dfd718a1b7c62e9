"""Each component Service selects its own ready routable pods, all of them, and nobody else's.

Routable are single-node pods and the leaders of groups: followers answer no requests (F18).
"""

from __future__ import annotations

import fnmatch

from conformance.judge.mismatch import Mismatch, of_service
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.wording import noun, nouns, subject
from conformance.model.exemptions import ServiceClass, ServiceRule
from conformance.model.kinds import takes_requests, workload_kind
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
            found.append(_undeclared(obj, snapshot.places[obj.uid].graph))
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
) -> list[Mismatch]:
    rule = _rule(endpoint, snapshot)
    if rule is None:
        return [_undeclared(endpoint, service.graph.name, service.name)]
    if rule.use is not ServiceClass.COMPONENT:
        return []
    hit = _selected(endpoint, snapshot)
    own = [pod for pod in service.live_pods if takes_requests(pod)]
    # Pods of a left-over workload of the other kind are coexistence: they may be selected or not.
    current = {pod.uid for pod in service.pods if snapshot.below(pod, service.right)}
    missed = [
        pod
        for pod in own
        if pod.ready and pod.uid not in hit and (pod.uid in current or not current)
    ]
    uids = {pod.uid for pod in own}
    strange = [pod for uid, pod in hit.items() if uid not in uids]
    found = []
    of = f"{noun(endpoint)} of service {service.name}"
    if missed:
        message = f"{of} does not select its own {nouns(missed)}"
        found.append(of_service(_NAME, service, [endpoint, *missed], message))
    if strange:
        followers = all(pod in service.pods for pod in strange)
        whose = "no leader of a group" if followers else "not of this service"
        message = f"{of} selects {nouns(strange)}, {whose}"
        found.append(of_service(_NAME, service, [endpoint, *strange], message))
    return found


def _selected(endpoint: Obj, snapshot: Snapshot) -> dict[str, Obj]:
    """uid → pods that the Service selects. An empty selector selects nothing (Service API)."""
    selector = endpoint.spec.get("selector") or {}
    if not selector:
        return {}
    known = {obj.uid for obj in snapshot.objects}
    pods = snapshot.state.select("Pod", selector, endpoint.namespace)
    return {pod.uid: pod for pod in pods if pod.uid in known and not pod.deleting}


def _headless(endpoint: Obj, workload: Obj, snapshot: Snapshot) -> list[Mismatch]:
    """The Service that a controller of groups makes for all pods of a workload."""
    row = workload_kind(workload)
    hit = _selected(endpoint, snapshot)
    below = {
        pod.uid: pod
        for pod in snapshot.objects
        if pod.kind == "Pod" and not pod.deleting and snapshot.below(pod, [workload])
    }
    if hit.keys() == below.keys() or row is None:
        return []
    wrong = [pod for uid, pod in {**hit, **below}.items() if (uid in hit) != (uid in below)]
    place = snapshot.places[endpoint.uid]
    return [
        Mismatch(
            checker=_NAME,
            subject=subject(endpoint),
            message=f"headless {noun(endpoint)} of {noun(workload)} of service {place.service} does "
            f"not select exactly that workload's pods ({nouns(wrong)})",
            graph=place.graph,
            service=place.service,
            objects=(endpoint.uid, workload.uid),
            blame=row.filled_by,
        )
    ]


def _undeclared(endpoint: Obj, graph: str, service: str = "") -> Mismatch:
    of = f" of service {service}" if service else ""
    return Mismatch(
        checker=_NAME,
        subject=subject(endpoint),
        message=f"{noun(endpoint)}{of} is of no class that the profile declares under `services`",
        graph=graph,
        service=service,
        objects=(endpoint.uid,),
    )
