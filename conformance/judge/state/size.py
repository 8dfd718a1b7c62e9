"""Workloads of the right kind, groups, size, and pods Ready = groups x size."""

from __future__ import annotations

from conformance.judge.state.base import Mismatch
from conformance.judge.state.view import Part, View
from conformance.judge.state.words import call, counted, listed, subject
from conformance.judge.state.workloads import (
    groups_of,
    images_in,
    most_workloads,
    reports_ready,
    right,
    size_of,
    wanted_count,
    wanted_kind,
    wrong,
)
from conformance.model.kinds import DEPLOYMENT, LWS, LWS_NAME_LABEL, Actor
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

# Labels of pods that a workload made, whatever has become of it: by the Deployment controller and
# by the LWS controller.
_OF_WORKLOADS = ("pod-template-hash", LWS_NAME_LABEL)


def size(view: View) -> list[Mismatch]:
    """What is wrong with number and shape of each service's workloads and pods."""
    return [*unreached(view), *outside(view)]


def unreached(view: View) -> list[Mismatch]:
    """Workloads and pods that are not what the graph asks for."""
    return [row for part in _present(view) for row in (*_all(part, view), *_ending(part))]


def outside(view: View) -> list[Mismatch]:
    """Pods that run a service beside its workloads: below a ReplicaSet or StatefulSet of the
    operator's own, a workload's that was deleted without them, or below nothing.

    A helper with an image of its own (a cache's DaemonSet, say) runs no service.
    """
    found = []
    for part in _present(view):
        images = {service.image for service in part.graph.services} - {""}
        pods = [
            pod
            for pod in part.outside
            if images & images_in(pod.spec) or any(label in pod.labels for label in _OF_WORKLOADS)
        ]
        if pods:
            verb = "runs" if len(pods) == 1 else "run"
            message = (
                f"{listed(map(call, pods))} of service {part.name} {verb} outside its workload"
            )
            found.append(_mismatch(part, pods, message))
    return found


def size_as_reported(view: View) -> list[Mismatch]:
    """As `size`, but a workload that itself reports all its pods updated and ready is believed: who
    reads its status cannot know better. (The LWS controller was seen to report a group ready whose
    leader was already being made anew.)"""
    found = []
    for part in _present(view):
        good = right(part, view.profile)
        believed = bool(good) and all(reports_ready(workload) for workload in good)
        found += _workloads(part, view) if believed else _all(part, view)
    return found


def _present(view: View) -> list[Part]:
    return [part for part in view.parts if part.root is not None]


def _all(part: Part, view: View) -> list[Mismatch]:
    return _workloads(part, view) or _pods(part, view)


def _workloads(part: Part, view: View) -> list[Mismatch]:
    profile, service = view.profile, part.service
    good, bad = right(part, profile), wrong(part, profile)
    kind = wanted_kind(service, profile)
    if not good:
        if bad:
            message = f"service {part.name} is {call(bad[0])}, expected a {kind}"
            return [_mismatch(part, bad, f"{message} of {_shape(part)}")]
        if not service.groups:
            return []
        return [_mismatch(part, [], f"service {part.name} has no {kind}, expected {_shape(part)}")]
    # More workloads than the layout gives are coexistence; the right one among them is enough here.
    surplus = len(good) > most_workloads(service, profile)
    if surplus and any(size_of(workload) == service.size for workload in good):
        return []
    found = [
        _mismatch(
            part, [workload],
            f"{call(workload)} of service {part.name} has size {size_of(workload)}, expected "
            f"{service.size}",
        )
        for workload in good
        if size_of(workload) != service.size
    ]  # fmt: skip
    if surplus:
        return found
    count, groups = wanted_count(service, profile), sum(map(groups_of, good))
    if len(good) < count:
        names = listed(map(call, good))
        message = f"service {part.name} has only {names}, expected {count} of kind {kind}"
        found.append(_mismatch(part, good, message))
    elif groups != service.groups:
        message = f"{listed(map(call, good))} of service {part.name} asks for {groups} replicas"
        found.append(_mismatch(part, good, f"{message}, expected {service.groups}"))
    return found


def _shape(part: Part) -> str:
    groups, pods = part.service.groups, part.service.size
    if part.service.multinode:
        return f"{counted(groups, 'group')} of {counted(pods, 'pod')}"
    return counted(groups, "pod")


def _pods(part: Part, view: View) -> list[Mismatch]:
    """Pods below workloads whose own spec is right."""
    good = right(part, view.profile)
    if len(good) > most_workloads(part.service, view.profile):
        return []
    uids = {workload.uid for workload in good}
    pods = [p for p in part.live_pods if any(o.uid in uids for o in view.chain(p))]
    wanted = part.service.groups * part.service.size
    ready = sum(pod.ready for pod in pods)
    found = []
    if len(pods) > wanted:
        # The workload asks for the right number, so the layer below it is wrong.
        names = listed(
            call(pod) for pod in sorted(pods, key=lambda p: p.created)[: len(pods) - wanted]
        )
        message = (
            f"service {part.name} has {counted(len(pods), 'pod')}, expected {wanted} ({names})"
        )
        found.append(_mismatch(part, good, message, blame=_below(good)))
    elif ready < wanted:
        message = f"service {part.name} has {ready} of {counted(wanted, 'pod')} Ready"
        found.append(_mismatch(part, good, message))
    found += [m for lws in good if lws.kind == LWS for m in _stateful_sets(lws, part, view)]
    return found


def _stateful_sets(lws: Obj, part: Part, view: View) -> list[Mismatch]:
    """An LWS has one StatefulSet of leaders and, with more than one pod a group, one of workers a
    group."""
    most = 1 + (groups_of(lws) if size_of(lws) > 1 else 0)
    below = [
        obj
        for obj in view.objects
        if obj.kind == "StatefulSet" and any(owner.uid == lws.uid for owner in view.chain(obj))
    ]
    if len(below) <= most:
        return []
    names = listed(sorted(obj.name for obj in below))
    message = f"{call(lws)} of service {part.name} is right and has {len(below)} StatefulSets"
    message += f", expected {most} ({names})"
    return [_mismatch(part, [lws, *below], message, blame=Actor.LWS_CONTROLLER)]


def _below(workloads: list[Obj]) -> Actor:
    return Actor.PLATFORM if workloads[0].kind == DEPLOYMENT else Actor.LWS_CONTROLLER


def _ending(part: Part) -> list[Mismatch]:
    dying = [pod for pod in part.pods if pod.deleting]
    if not dying:
        return []
    message = f"{listed(map(call, dying))} of service {part.name} is still ending"
    return [_mismatch(part, dying, message, ending=True, blame=Actor.PLATFORM)]


def _mismatch(
    part: Part,
    objects: list[Obj],
    message: str,
    *,
    blame: Actor = Actor.OPERATOR,
    ending: bool = False,
) -> Mismatch:
    return Mismatch(
        checker=CheckerName.SIZE,
        subject=subject(objects[0]) if objects else f"service/{part.name}",
        message=message,
        graph=part.graph.name,
        service=part.name,
        objects=tuple(obj.uid for obj in objects),
        blame=blame,
        ending=ending,
    )
