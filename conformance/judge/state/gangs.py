"""Gang objects as the profile says: one a group with the group's size, or none by the operator. One
that an LWS or a pod owns is the platform's: only its life is judged, with all that has an owner."""

from collections.abc import Iterator

from conformance.judge.mismatch import Mismatch, mismatch
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.wording import count, join, noun, verb
from conformance.model.children import Gang
from conformance.model.verdict import CheckerName

# Volcano and the schedulers after it find a pod's gang by this annotation.
GROUP_NAME = "scheduling.k8s.io/group-name"


def gangs(snapshot: Snapshot) -> list[Mismatch]:
    """Gang objects that are too many, too few, or of the wrong size."""
    return [row for service in snapshot.present for row in _gangs(service)]


def _gangs(service: ServiceSnapshot) -> Iterator[Mismatch]:
    multinode = service.profile.multinode
    needs_them = multinode.gang is Gang.PER_GROUP and service.service.multinode
    wanted = service.service.groups if needs_them else 0
    annotations = [pod.annotations for pod in service.live_pods]
    named = {found[GROUP_NAME] for found in annotations if wanted and GROUP_NAME in found}
    there, place = sorted(service.gangs, key=lambda gang: gang.name), service.place
    # Where pods say which gangs are theirs any other is left over, even if the number is right.
    surplus = [gang for gang in there if gang.name not in named] if named else there[wanted:]
    text = f"of service {service.name} still exists, and no group of the service needs it"
    for gang in surplus:
        yield mismatch(CheckerName.ORPHANS, f"{noun(gang)} {text}", gang, place=place)
    absent = sorted(named - {gang.name for gang in there})
    if len(there) < wanted or absent:
        has = f"has {count(len(there), multinode.gang_kind)}, expected {wanted}"
        if absent:
            missing = f"which {verb(len(absent), 'does', 'do')} not exist"
            has += f"; its pods name {join(absent)}, {missing}"
        about, message = f"service/{service.name}", f"service {service.name} {has}"
        yield mismatch(CheckerName.SIZE, message, *service.gangs, place=place, about=about)
    path, size = multinode.gang_min_path, service.service.size
    for gang in service.gangs if wanted else ():
        if gang.at(*path) != size:
            has = f"has {path[-1]} {gang.at(*path)}, expected {size}"
            message = f"{noun(gang)} of service {service.name} {has}"
            yield mismatch(CheckerName.SIZE, message, gang, place=place)
