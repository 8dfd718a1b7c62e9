"""Two of what there may be one: two kinds of workload, two components, or too many of one kind."""

import enum
from dataclasses import dataclass

from conformance.judge.mismatch import Mismatch, mismatch
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.wording import nouns, verb
from conformance.model.kinds import WORKLOADS
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


class Doubling(enum.StrEnum):
    """What a service has two of."""

    KINDS = "two kinds of workload"
    COMPONENTS = "two components"
    GENERATIONS = "more workloads of a kind than its layout gives"


@dataclass(frozen=True, slots=True)
class Together:
    """Workloads (or components) of one service that exist side by side. `stale` should not be
    there; `kept` is what it stands beside."""

    what: Doubling
    service: ServiceSnapshot
    stale: list[Obj]
    kept: list[Obj]

    @property
    def objects(self) -> tuple[Obj, ...]:
        return (*self.stale, *self.kept)

    @property
    def shrinking(self) -> bool:
        """True if the surplus differs from the rest in number only, as in the middle of a plain
        scale-down of a one-workload-a-replica layout."""
        if self.what is not Doubling.GENERATIONS or len(self.service.components) > 1:
            return False
        return len({_size(workload) for workload in self.objects}) == 1


def doublings(snapshot: Snapshot) -> list[Together]:
    """What coexists, at most one row a service: kinds before components before generations."""
    return [row for service in snapshot.services if (row := _doubling(service)) is not None]


def coexistence(snapshot: Snapshot) -> list[Mismatch]:
    """One mismatch for each service that has two of what it may have one of."""
    found = []
    for row in doublings(snapshot):
        still = verb(len(row.stale), "exists", "exist")
        what = f"{nouns(row.stale)} of service {row.service.name} still {still}"
        message = f"{what} beside {nouns(row.kept)}"
        place = row.service.place
        found.append(mismatch(CheckerName.COEXISTENCE, message, *row.objects, place=place))
    return found


def _doubling(service: ServiceSnapshot) -> Together | None:
    good, bad = service.right, service.wrong
    if bad and good:
        return Together(Doubling.KINDS, service, bad, good)
    kinds = sorted({workload.kind for workload in bad})
    if len(kinds) > 1:
        first = [workload for workload in bad if workload.kind == kinds[0]]
        rest = [workload for workload in bad if workload.kind != kinds[0]]
        return Together(Doubling.KINDS, service, first, rest)
    if len(service.components) > 1:
        *old, new = sorted(service.components, key=_age)
        return Together(Doubling.COMPONENTS, service, old, [new])
    # Without its own kind a service has at most what the other kind's layout gives: one.
    most = service.most_workloads if good else 1
    # Newest first, those of the right size before the others.
    by_age = sorted(good or bad, key=_age, reverse=True)
    by_fit = sorted(by_age, key=lambda workload: _size(workload) != service.service.size)
    surplus = by_fit[most:]
    return Together(Doubling.GENERATIONS, service, surplus, by_fit[:most]) if surplus else None


def _size(workload: Obj) -> int:
    return WORKLOADS[workload.kind].size_of(workload)


def _age(obj: Obj) -> tuple[float, int]:
    return obj.created, obj.revision
