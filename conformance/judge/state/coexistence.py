"""Two of what there may be one: two kinds of workload, two components, or too many of one kind."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from conformance.judge.mismatch import Mismatch, of_service
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.wording import nouns
from conformance.model.kinds import WORKLOADS
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


class Doubling(enum.StrEnum):
    """What a service has two of."""

    KINDS = "two kinds of workload"
    COMPONENTS = "two components"
    GENERATIONS = "more workloads of a kind than its layout gives"


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Workloads (or components) of one service that exist side by side. `stale` should not be
    there; `kept` is what it stands beside."""

    what: Doubling
    service: ServiceSnapshot
    stale: tuple[Obj, ...]
    kept: tuple[Obj, ...]

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
    rows = (_doubling(service) for service in snapshot.services)
    return [row for row in rows if row is not None]


def coexistence(snapshot: Snapshot) -> list[Mismatch]:
    """One mismatch for each service that has two of what it may have one of."""
    return [
        of_service(
            CheckerName.COEXISTENCE, row.service, row.objects,
            f"{nouns(row.stale)} of service {row.service.name} still exists beside "
            f"{nouns(row.kept)}",
        )
        for row in doublings(snapshot)
    ]  # fmt: skip


def _doubling(service: ServiceSnapshot) -> Together | None:
    good, bad = service.right, service.wrong
    if bad and good:
        return _row(Doubling.KINDS, service, bad, good)
    kinds = sorted({workload.kind for workload in bad})
    if len(kinds) > 1:
        first = [workload for workload in bad if workload.kind == kinds[0]]
        rest = [workload for workload in bad if workload.kind != kinds[0]]
        return _row(Doubling.KINDS, service, first, rest)
    if len(service.components) > 1:
        *old, new = sorted(service.components, key=_age)
        return _row(Doubling.COMPONENTS, service, old, [new])
    workloads = good or bad
    # Without its own kind a service has at most what the other kind's layout gives: one.
    most = service.most_workloads if good else 1
    if len(workloads) <= most:
        return None
    by_fit = sorted(
        workloads,
        key=lambda w: (_size(w) != service.service.size, [-number for number in _age(w)]),
    )
    return _row(Doubling.GENERATIONS, service, by_fit[most:], by_fit[:most])


def _size(workload: Obj) -> int:
    return WORKLOADS[workload.kind].size_of(workload)


def _age(obj: Obj) -> tuple[float, ...]:
    return (obj.created, float(obj.revision))


def _row(what: Doubling, service: ServiceSnapshot, stale: list[Obj], kept: list[Obj]) -> Together:
    return Together(what=what, service=service, stale=tuple(stale), kept=tuple(kept))
