"""Gang objects as the profile says: one a group with the group's size, or none by the operator.

A gang object that an LWS or a pod owns is the platform's (LWS and Volcano can make them) and is not
judged here; its life is, with everything that has an owner.
"""

from __future__ import annotations

from conformance.judge.state.base import Mismatch
from conformance.judge.state.view import Part, View
from conformance.judge.state.words import call, counted, listed, subject
from conformance.model.profile import Gang
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

# Volcano and the schedulers after it find a pod's gang by this annotation.
GROUP_NAME = "scheduling.k8s.io/group-name"


def gangs(view: View) -> list[Mismatch]:
    """Gang objects that are too many, too few, or of the wrong size."""
    found = []
    for part in view.parts:
        if part.root is None:
            continue
        found += _surplus(part, view)
        found += _missing(part, view)
        found += _minimum(part, view)
    return found


def wanted_gangs(part: Part, view: View) -> int:
    """How many gang objects the operator must have for the service."""
    per_group = view.profile.multinode.gang is Gang.PER_GROUP
    return part.service.groups if per_group and part.service.multinode else 0


def _named_by_pods(part: Part) -> set[str]:
    return {pod.annotations[GROUP_NAME] for pod in part.live_pods if GROUP_NAME in pod.annotations}


def _surplus(part: Part, view: View) -> list[Mismatch]:
    wanted = wanted_gangs(part, view)
    named = _named_by_pods(part)
    unused = [gang for gang in part.gangs if gang.name not in named]
    if not wanted:
        extra = list(part.gangs)
    elif named:
        # Pods say which gangs are theirs: any other is left over, even if the number is right.
        extra = unused
    else:
        extra = sorted(part.gangs, key=lambda gang: gang.name)[wanted:]
    return [
        _mismatch(
            CheckerName.ORPHANS, gang, part,
            f"{call(gang)} of service {part.name} still exists, and no group of the service "
            f"needs it",
        )
        for gang in sorted(extra, key=lambda gang: gang.name)
    ]  # fmt: skip


def _missing(part: Part, view: View) -> list[Mismatch]:
    wanted = wanted_gangs(part, view)
    known = {gang.name for gang in part.gangs}
    absent = sorted(_named_by_pods(part) - known) if wanted else []
    if len(part.gangs) >= wanted and not absent:
        return []
    kind = view.profile.multinode.gang_kind
    message = f"service {part.name} has {counted(len(part.gangs), kind)}, expected {wanted}"
    if absent:
        message += f"; its pods name {listed(absent)}, which does not exist"
    return [
        Mismatch(
            checker=CheckerName.SIZE,
            subject=f"service/{part.name}",
            message=message,
            graph=part.graph.name,
            service=part.name,
            objects=tuple(gang.uid for gang in part.gangs),
        )
    ]


def _minimum(part: Part, view: View) -> list[Mismatch]:
    if not wanted_gangs(part, view):
        return []
    path = view.profile.multinode.gang_min_path
    return [
        _mismatch(
            CheckerName.SIZE, gang, part,
            f"{call(gang)} of service {part.name} has {path[-1]} {gang.at(*path)}, expected "
            f"{part.service.size}",
        )
        for gang in part.gangs
        if gang.at(*path) != part.service.size
    ]  # fmt: skip


def _mismatch(checker: CheckerName, gang: Obj, part: Part, message: str) -> Mismatch:
    return Mismatch(
        checker=checker,
        subject=subject(gang),
        message=message,
        graph=part.graph.name,
        service=part.name,
        objects=(gang.uid,),
    )
