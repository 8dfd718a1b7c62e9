"""Workloads of the right kind, groups, size, pods Ready = groups x size, and none of an old spec."""

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.judge.mismatch import Mismatch, mismatch
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.wording import count, join, noun, nouns, verb
from conformance.model.kinds import WORKLOADS, Actor
from conformance.model.manifest import MAIN
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

_NAME = CheckerName.SIZE


def size(snapshot: Snapshot) -> list[Mismatch]:
    """What is wrong with number and shape of each service's workloads and pods."""
    return [*unreached(snapshot), *outside(snapshot)]


def unreached(snapshot: Snapshot) -> list[Mismatch]:
    """Workloads and pods that are not what the graph asks for."""
    found = []
    for service in snapshot.present:
        found += _workloads(service) or _pods(service, snapshot)
        dying = [pod for pod in service.pods if pod.deleting]
        if dying:
            still = f"{verb(len(dying), 'is', 'are')} still ending"
            message = f"{nouns(dying)} of service {service.name} {still}"
            found.append(
                mismatch(
                    _NAME, message, *dying,
                    place=service.place, ending=True, blame=Actor.PLATFORM,
                )
            )  # fmt: skip
    return found


def outside(snapshot: Snapshot) -> list[Mismatch]:
    """Pods that run a service beside its workloads: below a ReplicaSet or StatefulSet of the
    operator's own, a workload's that was deleted without them, or below nothing. A helper with an
    image of its own (a cache's DaemonSet, say) runs no service."""
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
            runs = verb(len(pods), "runs", "run")
            message = f"{nouns(pods)} of service {service.name} {runs} outside its workload"
            found.append(mismatch(_NAME, message, *pods, place=service.place))
    return found


def size_as_reported(snapshot: Snapshot) -> list[Mismatch]:
    """As `size`, but a workload that itself reports all its pods updated and ready is believed: who
    reads its status cannot know better. (LWS reported a group ready whose leader was being made
    anew.)"""
    found = []
    for service in snapshot.present:
        good = service.right
        believed = bool(good) and all(WORKLOADS[w.kind].complete(w) for w in good)
        found += _workloads(service) or ([] if believed else _pods(service, snapshot))
    return found


def _workloads(service: ServiceSnapshot) -> list[Mismatch]:
    """What the specs of the service's workloads ask for, against what the graph asks for."""
    good, wanted = service.right, service.service.size
    if not good:
        return _no_workload(service)
    # More workloads than the layout gives are coexistence; the right one among them is enough here.
    surplus = len(good) > service.most_workloads
    sizes = {workload: WORKLOADS[workload.kind].size_of(workload) for workload in good}
    if surplus and wanted in sizes.values():
        return []
    found = []
    for workload, there in sizes.items():
        if there != wanted:
            has = f"has size {there}, expected {wanted}"
            message = f"{noun(workload)} of service {service.name} {has}"
            found.append(mismatch(_NAME, message, workload, place=service.place))
    return found if surplus else found + _number(service, good)


def _no_workload(service: ServiceSnapshot) -> list[Mismatch]:
    bad, groups, kind = service.wrong, service.service.groups, service.wanted_kind
    shape = count(groups, "pod")
    if service.service.multinode:
        shape = f"{count(groups, 'group')} of {count(service.service.size, 'pod')}"
    if bad:
        message = f"service {service.name} is {noun(bad[0])}, expected a {kind} of {shape}"
        return [mismatch(_NAME, message, *bad, place=service.place)]
    if not groups:
        return []
    message = f"service {service.name} has no {kind}, expected {shape}"
    return [mismatch(_NAME, message, place=service.place, about=f"service/{service.name}")]


def _number(service: ServiceSnapshot, good: list[Obj]) -> list[Mismatch]:
    groups = sum(WORKLOADS[workload.kind].groups_of(workload) for workload in good)
    if len(good) < service.wanted_count:
        wanted = f"expected {service.wanted_count} of kind {service.wanted_kind}"
        message = f"service {service.name} has only {nouns(good)}, {wanted}"
    elif groups != service.service.groups:
        asks = f"{verb(len(good), 'asks', 'ask')} for {count(groups, 'replica')}"
        wanted = f"expected {service.service.groups}"
        message = f"{nouns(good)} of service {service.name} {asks}, {wanted}"
    else:
        return []
    return [mismatch(_NAME, message, *good, place=service.place)]


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
        has = f"{count(len(pods), 'pod')}, expected {wanted} ({nouns(extra)})"
        blame = WORKLOADS[good[0].kind].filled_by
        message = f"service {service.name} has {has}"
        found.append(mismatch(_NAME, message, *good, place=service.place, blame=blame))
    elif ready < wanted:
        message = f"service {service.name} has {ready} of {count(wanted, 'pod')} Ready"
        found.append(mismatch(_NAME, message, *good, place=service.place))
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
    names = join(sorted(one.name for one in sets))
    has = f"{count(len(sets), sets[0].kind)}, expected {most} ({names})"
    message = f"{noun(workload)} of service {service.name} is right and has {has}"
    place = service.place
    return [mismatch(_NAME, message, workload, *sets, place=place, blame=row.filled_by)]


def rollout(snapshot: Snapshot) -> list[Mismatch]:
    """Templates without the service's image, pods without it, and updates still in progress. Without
    observedGeneration this alone tells a finished image change from one that has not begun."""
    return [
        mismatch(checker, message, workload, place=service.place)
        for service in snapshot.services
        for workload in service.right
        for checker, message in _unfinished(workload, service, snapshot)
    ]


def _unfinished(
    workload: Obj, service: ServiceSnapshot, snapshot: Snapshot
) -> list[tuple[CheckerName, str]]:
    row, of, image = WORKLOADS[workload.kind], f"of service {service.name}", service.service.image
    templates = [images_in(found.get("spec") or {}) for _, found in row.templates_of(workload)]
    lacking = [images for images in templates if image and image not in images]
    old = [
        pod
        for pod in service.live_pods
        if image and image not in images_in(pod.spec) and snapshot.below(pod, [workload])
    ]
    found = []
    if lacking:
        text = f"{noun(workload)} {of} has image {join(sorted(lacking[0]))}, expected {image}"
        found.append((CheckerName.FIDELITY, text))
    elif old:
        text = f"{nouns(old)} {of} {verb(len(old), 'does', 'do')} not run image {image} yet"
        found.append((CheckerName.SIZE, text))
    if row.rolling(workload):
        found.append((CheckerName.SIZE, f"{noun(workload)} {of} is still being updated"))
    return found


def main_image(spec: Mapping[str, Any]) -> str:
    """The image of the container that the user's main container became, wherever sidecars stand."""
    containers: Sequence[Mapping[str, Any]] = spec.get("containers") or ({},)
    named = (one for one in containers if one.get("name") == MAIN)
    return str(next(named, containers[0]).get("image", ""))


def images_in(spec: Mapping[str, Any]) -> set[str]:
    """The images of a pod spec's containers, init containers left out."""
    return {str(container.get("image", "")) for container in spec.get("containers") or ()}
