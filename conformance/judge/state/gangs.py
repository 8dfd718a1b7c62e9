"""Gang objects as the profile says: one a group with the group's size, or none by the operator.

A gang object that an LWS or a pod owns is the platform's (LWS and Volcano can make them) and is not
judged here; its life is, with everything that has an owner.
"""

from __future__ import annotations

from conformance.judge.mismatch import Mismatch, of_service
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.wording import count, join, noun
from conformance.model.children import Gang
from conformance.model.verdict import CheckerName

# Volcano and the schedulers after it find a pod's gang by this annotation.
GROUP_NAME = "scheduling.k8s.io/group-name"


def gangs(snapshot: Snapshot) -> list[Mismatch]:
    """Gang objects that are too many, too few, or of the wrong size."""
    return [
        row
        for service in snapshot.present
        for row in (*_surplus(service), *_missing(service), *_minimum(service))
    ]


def _wanted(service: ServiceSnapshot) -> int:
    """How many gang objects the operator must have for the service."""
    per_group = service.profile.multinode.gang is Gang.PER_GROUP
    return service.service.groups if per_group and service.service.multinode else 0


def _named_by_pods(service: ServiceSnapshot) -> set[str]:
    pods = service.live_pods
    return {pod.annotations[GROUP_NAME] for pod in pods if GROUP_NAME in pod.annotations}


def _surplus(service: ServiceSnapshot) -> list[Mismatch]:
    wanted, named = _wanted(service), _named_by_pods(service)
    by_name = sorted(service.gangs, key=lambda gang: gang.name)
    if not wanted:
        extra = by_name
    elif named:
        # Pods say which gangs are theirs: any other is left over, even if the number is right.
        extra = [gang for gang in by_name if gang.name not in named]
    else:
        extra = by_name[wanted:]
    text = f"of service {service.name} still exists, and no group of the service needs it"
    return [of_service(CheckerName.ORPHANS, service, [g], f"{noun(g)} {text}") for g in extra]


def _missing(service: ServiceSnapshot) -> list[Mismatch]:
    wanted = _wanted(service)
    known = {gang.name for gang in service.gangs}
    absent = sorted(_named_by_pods(service) - known) if wanted else []
    if len(service.gangs) >= wanted and not absent:
        return []
    kind = service.profile.multinode.gang_kind
    message = f"service {service.name} has {count(len(service.gangs), kind)}, expected {wanted}"
    if absent:
        verb = "does" if len(absent) == 1 else "do"
        message += f"; its pods name {join(absent)}, which {verb} not exist"
    return [
        of_service(
            CheckerName.SIZE, service, service.gangs, message, about=f"service/{service.name}"
        )
    ]


def _minimum(service: ServiceSnapshot) -> list[Mismatch]:
    if not _wanted(service):
        return []
    path, size = service.profile.multinode.gang_min_path, service.service.size
    return [
        of_service(
            CheckerName.SIZE, service, [gang],
            f"{noun(gang)} of service {service.name} has {path[-1]} {gang.at(*path)}, expected "
            f"{size}",
        )
        for gang in service.gangs
        if gang.at(*path) != size
    ]  # fmt: skip
