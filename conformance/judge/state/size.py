"""Workloads of the right kind, groups, size, and pods Ready = groups x size."""

from __future__ import annotations

from conformance.judge.mismatch import Mismatch, of_service
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.state.rollout import images_in
from conformance.judge.wording import count, join, noun, nouns
from conformance.model.kinds import WORKLOADS, Actor
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

_NAME = CheckerName.SIZE


def size(snapshot: Snapshot) -> list[Mismatch]:
    """What is wrong with number and shape of each service's workloads and pods."""
    return [*unreached(snapshot), *outside(snapshot)]


def unreached(snapshot: Snapshot) -> list[Mismatch]:
    """Workloads and pods that are not what the graph asks for."""
    return [
        row
        for service in snapshot.present
        for row in (*_reached(service, snapshot), *_ending(service))
    ]


def outside(snapshot: Snapshot) -> list[Mismatch]:
    """Pods that run a service beside its workloads: below a ReplicaSet or StatefulSet of the
    operator's own, a workload's that was deleted without them, or below nothing.

    A helper with an image of its own (a cache's DaemonSet, say) runs no service.
    """
    found = []
    labels = [row.pod_label for row in WORKLOADS.values() if row.pod_label]
    for service in snapshot.present:
        images = {one.image for one in service.graph.services} - {""}
        pods = [
            pod
            for pod in service.outside
            if images & images_in(pod.spec) or any(label in pod.labels for label in labels)
        ]
        if pods:
            verb = "runs" if len(pods) == 1 else "run"
            message = f"{nouns(pods)} of service {service.name} {verb} outside its workload"
            found.append(of_service(_NAME, service, pods, message))
    return found


def size_as_reported(snapshot: Snapshot) -> list[Mismatch]:
    """As `size`, but a workload that itself reports all its pods updated and ready is believed: who
    reads its status cannot know better. (The LWS controller was seen to report a group ready whose
    leader was already being made anew.)"""
    found = []
    for service in snapshot.present:
        good = service.right
        believed = bool(good) and all(WORKLOADS[w.kind].complete(w) for w in good)
        found += _workloads(service) if believed else _reached(service, snapshot)
    return found


def _reached(service: ServiceSnapshot, snapshot: Snapshot) -> list[Mismatch]:
    return _workloads(service) or _pods(service, snapshot)


def _workloads(service: ServiceSnapshot) -> list[Mismatch]:
    """What the specs of the service's workloads ask for, against what the graph asks for."""
    good, bad = service.right, service.wrong
    if not good:
        return _no_workload(service, bad)
    # More workloads than the layout gives are coexistence; the right one among them is enough here.
    surplus = len(good) > service.most_workloads
    wrong_size = [w for w in good if _size(w) != service.service.size]
    if surplus and len(wrong_size) < len(good):
        return []
    found = [
        of_service(
            _NAME, service, [workload],
            f"{noun(workload)} of service {service.name} has size {_size(workload)}, expected "
            f"{service.service.size}",
        )
        for workload in wrong_size
    ]  # fmt: skip
    if not surplus:
        found += _number(service, good)
    return found


def _no_workload(service: ServiceSnapshot, bad: list[Obj]) -> list[Mismatch]:
    kind, shape = service.wanted_kind, _shape(service)
    if bad:
        message = f"service {service.name} is {noun(bad[0])}, expected a {kind} of {shape}"
        return [of_service(_NAME, service, bad, message)]
    if not service.service.groups:
        return []
    message = f"service {service.name} has no {kind}, expected {shape}"
    return [of_service(_NAME, service, [], message)]


def _number(service: ServiceSnapshot, good: list[Obj]) -> list[Mismatch]:
    groups = sum(WORKLOADS[workload.kind].groups_of(workload) for workload in good)
    if len(good) < service.wanted_count:
        message = (
            f"service {service.name} has only {nouns(good)}, expected {service.wanted_count} of "
            f"kind {service.wanted_kind}"
        )
    elif groups != service.service.groups:
        verb = "asks" if len(good) == 1 else "ask"
        message = (
            f"{nouns(good)} of service {service.name} {verb} for {count(groups, 'replica')}, "
            f"expected {service.service.groups}"
        )
    else:
        return []
    return [of_service(_NAME, service, good, message)]


def _shape(service: ServiceSnapshot) -> str:
    groups, pods = service.service.groups, service.service.size
    if service.service.multinode:
        return f"{count(groups, 'group')} of {count(pods, 'pod')}"
    return count(groups, "pod")


def _pods(service: ServiceSnapshot, snapshot: Snapshot) -> list[Mismatch]:
    """Pods below workloads whose own spec is right."""
    good = service.right
    if len(good) > service.most_workloads:
        return []
    pods = [pod for pod in service.live_pods if snapshot.below(pod, good)]
    wanted = service.service.groups * service.service.size
    ready = sum(pod.ready for pod in pods)
    found = []
    if len(pods) > wanted:
        # The workload asks for the right number, so the actor below it is wrong.
        extra = sorted(pods, key=lambda pod: pod.created)[: len(pods) - wanted]
        message = (
            f"service {service.name} has {count(len(pods), 'pod')}, expected {wanted} "
            f"({nouns(extra)})"
        )
        found.append(of_service(_NAME, service, good, message, blame=_filled_by(good[0])))
    elif ready < wanted:
        message = f"service {service.name} has {ready} of {count(wanted, 'pod')} Ready"
        found.append(of_service(_NAME, service, good, message))
    return [*found, *(row for w in good for row in _inner_sets(w, service, snapshot))]


def _inner_sets(workload: Obj, service: ServiceSnapshot, snapshot: Snapshot) -> list[Mismatch]:
    """A workload of groups that is made of StatefulSets has one of leaders and, with more than one pod
    a group, one of workers a group (LWS API)."""
    row = WORKLOADS[workload.kind]
    if row.size is None or not row.makes:
        return []
    most = 1 + (row.groups_of(workload) if row.size_of(workload) > 1 else 0)
    sets = [o for o in snapshot.objects if o.kind in row.makes and snapshot.below(o, [workload])]
    if len(sets) <= most:
        return []
    message = (
        f"{noun(workload)} of service {service.name} is right and has "
        f"{count(len(sets), sets[0].kind)}, expected {most} "
        f"({join(sorted(one.name for one in sets))})"
    )
    return [of_service(_NAME, service, [workload, *sets], message, blame=row.filled_by)]


def _size(workload: Obj) -> int:
    return WORKLOADS[workload.kind].size_of(workload)


def _filled_by(workload: Obj) -> Actor:
    return WORKLOADS[workload.kind].filled_by


def _ending(service: ServiceSnapshot) -> list[Mismatch]:
    dying = [pod for pod in service.pods if pod.deleting]
    if not dying:
        return []
    verb = "is" if len(dying) == 1 else "are"
    message = f"{nouns(dying)} of service {service.name} {verb} still ending"
    return [of_service(_NAME, service, dying, message, ending=True, blame=Actor.PLATFORM)]
