"""Rest until the end of a run: what a case left at rest still matches then, and nobody touched it.

A hold window proves a few seconds. The graphs of cases that conform stand until all cases have ended,
mostly for minutes, so an operator that acts later than a hold window is seen here.
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

from conformance.history.history import History
from conformance.history.records import (
    Checkpoint,
    Event,
    Foreign,
    Gap,
    OperatorEvent,
    OperatorEventKind,
    Record,
    Scope,
    Soak,
    Write,
)
from conformance.judge.checks.base import CheckFunction, CheckResult
from conformance.judge.checks.common import finding_of
from conformance.judge.checks.looks import Look, look_at
from conformance.judge.checks.words import by, listing, named, plural, seconds, subject
from conformance.judge.state.writes import CountedWrite, log_of
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict


@dataclass(frozen=True)
class _Place:
    """One case's namespace at the end of the run."""

    soak: Soak
    look: Look

    @property
    def length(self) -> float:
        """Seconds since the case ended."""
        return self.look.checkpoint.at - self.soak.at


def check_writes(history: History) -> CheckResult:
    """Counted writes by the operator after a case had ended at rest."""
    places = _places(history)
    findings = [finding for place in places for finding in _writes(place)]
    findings += _blind(history)
    return CheckResult(
        checker=CheckerName.QUIESCENCE, findings=tuple(findings), looked_at=len(places)
    )


def check_state(history: History, *, name: CheckerName) -> CheckResult:
    """What no longer matches, as far as it is that checker's to say."""
    places = _places(history)
    findings = [
        _later(place, finding_of(place.look, row))
        for place in places
        for row in place.look.mismatches
        if row.checker is name and not row.soft
    ]
    return CheckResult(checker=name, findings=tuple(findings), looked_at=len(places))


STATE_CHECKERS: dict[CheckerName, CheckFunction] = {
    name: partial(check_state, name=name)
    for name in CheckerName
    # Their rows come from what happens over time.
    if name not in (CheckerName.QUIESCENCE, CheckerName.VALIDITY, CheckerName.OPERATOR_HEALTH)
}
"""By the name of the checker that a rule's mismatches belong to."""


def _later(place: _Place, finding: Finding) -> Finding:
    message = (
        f"{finding.message} ({seconds(place.length)} after case {place.soak.case} had ended at "
        "rest)"
    )
    return dataclasses.replace(finding, message=message, first_at=place.soak.at)


def _writes(place: _Place) -> list[Finding]:
    if place.soak.blocked:
        # An operator may now and then try again what cannot be done.
        return []
    history, checkpoint = place.look.history, place.look.checkpoint
    counted = [
        write
        for write in log_of(history).counted(place.soak.at, checkpoint.at)
        if not _kept(history, write.change.obj) and not _starts(place, write.change.at)
    ]
    found = []
    for writer in (Actor.OPERATOR, Actor.UNKNOWN):
        writes = [write for write in counted if write.writer is writer]
        if writes:
            found.append(_busy(place, writes, writer))
    return found


def _starts(place: _Place, at: float) -> bool:
    """True while an operator that was just started may look at everything anew, as cases that stop it
    give it time to; where these have no cluster of their own, it is the same operator."""
    return any(
        event.at >= place.soak.at and 0 <= at - event.at <= place.look.history.bounds.deadline
        for event in place.look.history.operator_events
        if event.kind in (OperatorEventKind.STARTED, OperatorEventKind.READY)
    )


def _kept(history: History, obj: Obj) -> bool:
    return any(
        retained.kind == obj.kind and fnmatch.fnmatchcase(obj.name, retained.name)
        for retained in history.profile.retained
    )


def _busy(place: _Place, writes: list[CountedWrite], writer: Actor) -> Finding:
    changes = [write.change for write in writes]
    first, last = changes[0], changes[-1]
    acts = listing(dict.fromkeys(str(change) for change in changes))
    case, after = place.soak.case, first.at - place.soak.at
    return Finding(
        checker=CheckerName.QUIESCENCE,
        verdict=Verdict.VIOLATES if writer is Actor.OPERATOR else Verdict.UNKNOWN,
        subject=subject(first.obj),
        message=f"{named(first.obj)} was written by {by(writer)} {seconds(after)} after case {case} "
        f"had ended at rest, and nobody had asked for anything: {plural(len(writes), 'write')} in "
        f"all ({acts}).",
        graph=first.obj.labels.get(place.look.history.profile.labels.graph, ""),
        first_at=first.at,
        last_at=last.at,
        evidence={
            "case": case,
            "writes": dict(Counter(str(change) for change in changes)),
        },
    )


def _blind(history: History) -> list[Finding]:
    since = min((soak.at for soak in history.soaks), default=0.0)
    return [_gap(gap) for gap in history.gaps if gap.at >= since]


def _gap(gap: Gap) -> Finding:
    kind = gap.kind or "any kind"
    return Finding(
        checker=CheckerName.QUIESCENCE,
        verdict=Verdict.UNKNOWN,
        subject="run",
        message=f"It cannot be told whether the operator was at rest until the end of the run: "
        f"changes of {kind} may have been missed: {gap.reason}.",
        first_at=gap.at,
        last_at=gap.at,
    )


# Each case's namespace as a history of its own ---------------------------------------------------

_PLACES: WeakKeyDictionary[History, list[_Place]] = WeakKeyDictionary()


def _places(history: History) -> list[_Place]:
    if history not in _PLACES:
        _PLACES[history] = _split(history)
    return _PLACES[history]


def _split(history: History) -> list[_Place]:
    if not history.checkpoints:
        return []
    end = history.checkpoints[-1]
    records: dict[str, list[Record]] = defaultdict(list)
    for record in history.records:
        if isinstance(record, Event):
            records[record.obj.namespace].append(record)
        elif isinstance(record, Write):
            records[record.namespace].append(record)
        elif isinstance(record, OperatorEvent):
            records[""].append(record)
    return [_place(history, soak, records[soak.namespace], records[""], end)
            for soak in history.soaks]  # fmt: skip


def _place(
    history: History, soak: Soak, own: list[Record], cluster: list[Record], end: Checkpoint
) -> _Place:
    header = dataclasses.replace(
        history.header, case=soak.case, namespace=soak.namespace, scope=Scope.CASE
    )
    objects = {record.obj.uid: record.obj for record in own if isinstance(record, Event)}
    others = [
        Foreign(uid=uid, kind=obj.kind, namespace=obj.namespace, name=obj.name, at=soak.at)
        for uid in soak.others
        if (obj := objects.get(uid)) is not None
    ]
    checkpoint = dataclasses.replace(
        end, since=soak.at, graphs=soak.graphs, components=soak.components,
        blocked=soak.blocked,
    )  # fmt: skip
    place = History([header, *cluster, *own, *others, checkpoint])
    return _Place(soak, look_at(place, checkpoint))
