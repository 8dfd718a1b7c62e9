"""Each component Service selects its own ready routable pods, all of them, and nobody else's.

Routable are a Deployment's pods and an LWS's leaders: followers answer no requests (fault F18).
"""

from __future__ import annotations

import fnmatch

from conformance.judge.state.base import Mismatch
from conformance.judge.state.view import Part, View
from conformance.judge.state.words import call, listed, subject
from conformance.judge.state.workloads import right
from conformance.model.kinds import LWS, LWS_WORKER_INDEX_LABEL, Actor
from conformance.model.profile import ServiceClass, ServiceRule
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


def selectors(view: View) -> list[Mismatch]:
    """Services that miss their own pods, hit others', or are not declared in the profile."""
    found: list[Mismatch] = []
    placed: set[str] = set()
    for part in view.parts:
        for door in part.doors:
            placed.add(door.uid)
            found += _door(door, part, view)
    for obj in view.objects:
        if obj.kind != "Service" or obj.group or obj.uid in placed:
            continue
        chain = view.chain(obj)
        if chain and chain[0].kind == LWS:
            found += _headless(obj, chain[0], view)
        elif view.root_of(obj) and view.by_operator(obj) and rule_of(obj, view) is None:
            found.append(_undeclared(obj, view.places[obj.uid].graph))
    return found


def rule_of(door: Obj, view: View) -> ServiceRule | None:
    """The profile's first rule that the Service matches, None if it is not declared."""
    place = view.places[door.uid]
    for rule in view.profile.services:
        name = rule.name.format(
            component=place.component, graph=place.graph, service=place.service.lower()
        )
        if rule.use is not ServiceClass.COMPONENT and place.component == door.name:
            # No rule takes a component's own Service out of judgement.
            continue
        if rule.name and not fnmatch.fnmatchcase(door.name, name):
            continue
        if all(door.labels.get(key) == value for key, value in rule.labels.items()):
            return rule
    return None


def routable(part: Part) -> list[Obj]:
    """The pods of the service that may be sent requests, dying ones left out."""
    return [pod for pod in part.live_pods if pod.labels.get(LWS_WORKER_INDEX_LABEL, "0") == "0"]


def _door(door: Obj, part: Part, view: View) -> list[Mismatch]:
    rule = rule_of(door, view)
    if rule is None:
        return [_undeclared(door, part.graph.name, part.name)]
    if rule.use is not ServiceClass.COMPONENT:
        return []
    hit = _selected(door, view)
    own = routable(part)
    # Pods of a left-over workload of the other kind are coexistence: they may be selected or not.
    good = right(part, view.profile)
    current = {pod.uid for workload in good for pod in part.pods_of(workload, view)}
    missed = [
        pod
        for pod in own
        if pod.ready and pod.uid not in hit and (pod.uid in current or not current)
    ]
    uids = {pod.uid for pod in own}
    strange = [pod for uid, pod in hit.items() if uid not in uids]
    found = []
    if missed:
        message = f"{call(door)} of service {part.name} does not select its own"
        found.append(_mismatch(door, missed, f"{message} {listed(map(call, missed))}", part))
    if strange:
        followers = all(pod in part.pods for pod in strange)
        whose = "no leader of a group" if followers else "not of this service"
        message = f"{call(door)} of service {part.name} selects {listed(map(call, strange))}"
        found.append(_mismatch(door, strange, f"{message}, {whose}", part))
    return found


def _selected(door: Obj, view: View) -> dict[str, Obj]:
    """uid → pods that the Service selects. An empty selector selects nothing (Service API)."""
    selector = door.spec.get("selector") or {}
    if not selector:
        return {}
    known = {obj.uid for obj in view.objects}
    pods = view.state.select("Pod", selector, door.namespace)
    return {pod.uid: pod for pod in pods if pod.uid in known and not pod.deleting}


def _headless(door: Obj, lws: Obj, view: View) -> list[Mismatch]:
    hit = _selected(door, view)
    below = {
        pod.uid: pod
        for pod in view.objects
        if pod.kind == "Pod"
        and not pod.deleting
        and any(owner.uid == lws.uid for owner in view.chain(pod))
    }
    if hit.keys() == below.keys():
        return []
    wrong = [pod for uid, pod in {**hit, **below}.items() if (uid in hit) != (uid in below)]
    place = view.places[door.uid]
    return [
        Mismatch(
            checker=CheckerName.SELECTORS,
            subject=subject(door),
            message=f"headless {call(door)} of {call(lws)} of service {place.service} does not "
            f"select exactly that workload's pods ({listed(map(call, wrong))})",
            graph=place.graph,
            service=place.service,
            objects=(door.uid, lws.uid),
            blame=Actor.LWS_CONTROLLER,
        )
    ]


def _undeclared(door: Obj, graph: str, service: str = "") -> Mismatch:
    of = f" of service {service}" if service else ""
    return Mismatch(
        checker=CheckerName.SELECTORS,
        subject=subject(door),
        message=f"{call(door)}{of} is of no class that the profile declares under `services`",
        graph=graph,
        service=service,
        objects=(door.uid,),
    )


def _mismatch(door: Obj, pods: list[Obj], message: str, part: Part) -> Mismatch:
    return Mismatch(
        checker=CheckerName.SELECTORS,
        subject=subject(door),
        message=message,
        graph=part.graph.name,
        service=part.name,
        objects=(door.uid, *(pod.uid for pod in pods)),
    )
