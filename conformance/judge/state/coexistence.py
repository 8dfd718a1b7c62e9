"""Two of what there may be one: two kinds of workload, two components, or too many of one kind."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from conformance.judge.state.base import Mismatch
from conformance.judge.state.view import Part, View
from conformance.judge.state.words import call, listed, subject
from conformance.judge.state.workloads import most_workloads, right, size_of, wanted_count, wrong
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
    part: Part
    stale: tuple[Obj, ...]
    kept: tuple[Obj, ...]

    @property
    def shrinking(self) -> bool:
        """True if the surplus differs from the rest in number only, as in the middle of a plain
        scale-down of a one-workload-a-replica layout."""
        if self.what is not Doubling.GENERATIONS or len(self.part.components) > 1:
            return False
        sizes = {size_of(workload) for workload in (*self.stale, *self.kept)}
        return len(sizes) == 1


def doublings(view: View) -> list[Together]:
    """What coexists, at most one row a service: kinds before components before generations."""
    rows = (_doubling(part, view) for part in view.parts)
    return [row for row in rows if row is not None]


def _doubling(part: Part, view: View) -> Together | None:
    profile = view.profile
    good, bad = right(part, profile), wrong(part, profile)
    if bad and good:
        return _row(Doubling.KINDS, part, bad, good)
    kinds = sorted({workload.kind for workload in bad})
    if len(kinds) > 1:
        first = [workload for workload in bad if workload.kind == kinds[0]]
        rest = [workload for workload in bad if workload.kind != kinds[0]]
        return _row(Doubling.KINDS, part, first, rest)
    if len(part.components) > 1:
        *old, new = sorted(part.components, key=_age)
        return _row(Doubling.COMPONENTS, part, old, [new])
    workloads = good or bad
    # Without its own kind a service has at most what the other kind's layout gives: one.
    most = most_workloads(part.service, profile) if good else 1
    if len(workloads) <= most:
        return None
    keep = max(1, wanted_count(part.service, profile)) if good else 1
    by_fit = sorted(
        workloads, key=lambda w: (size_of(w) != part.service.size, [-a for a in _age(w)])
    )
    return _row(Doubling.GENERATIONS, part, by_fit[keep:], by_fit[:keep])


def _age(obj: Obj) -> tuple[float, ...]:
    return (obj.created, float(obj.revision))


def _row(what: Doubling, part: Part, stale: list[Obj], kept: list[Obj]) -> Together:
    return Together(what=what, part=part, stale=tuple(stale), kept=tuple(kept))


def coexistence(view: View) -> list[Mismatch]:
    """One mismatch for each service that has two of what it may have one of."""
    return [
        Mismatch(
            checker=CheckerName.COEXISTENCE,
            subject=subject(row.stale[0]),
            message=f"{listed(map(call, row.stale))} of service {row.part.name} still exists "
            f"beside {listed(map(call, row.kept))}",
            graph=row.part.graph.name,
            service=row.part.name,
            objects=tuple(obj.uid for obj in (*row.stale, *row.kept)),
        )
        for row in doublings(view)
    ]
