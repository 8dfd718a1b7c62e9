"""How much an operator does in a hold window that changes nothing: requests, and Events it emits.
Part of `quiescence`.

An operator that starts lists everything and looks at each object once, which takes a no-op write and
some Events an object. That pass is no unrest, whenever it comes: /readyz may well say ok before it
(seen), and each controller begins once its own caches are filled (3 s apart were seen of one operator
in a pod). What it changes counts all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from conformance.history.records import Write
from conformance.judge.case import Case, CasePoint
from conformance.judge.changes import Change, said_at
from conformance.judge.findings import finding
from conformance.judge.wording import count, seconds
from conformance.model.bounds import FIRST_PASS
from conformance.model.kinds import Actor
from conformance.model.verdict import CheckerName, Finding, Verdict

_Row = TypeVar("_Row", Write, Change)
_NAME = CheckerName.QUIESCENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counting:
    """From when on the operator's doings count: the start of the window, or the end of a first pass."""

    since: float
    restarted_at: float | None
    """When the operator was last started, if that was within the case: its objects are listed then."""

    @property
    def begin(self) -> float:
        """From when on they must be looked at, to tell a first look from another."""
        return self.since if self.restarted_at is None else self.restarted_at


def rates(case: Case, point: CasePoint) -> list[Finding]:
    """Judge the requests and the Events of the hold window that ends at a checkpoint."""
    counting = _counting(case, point)
    return [*_requests(case, point, counting), *_events(case, point, counting)]


def _requests(case: Case, point: CasePoint, counting: _Counting) -> Iterator[Finding]:
    """Mutating requests in the window, more than `write_rate` a second for each graph served."""
    hold, bounds, served = point.hold, case.bounds, len(point.graphs)
    sent = case.log.requests(counting.begin, hold.end)
    counted = list(_counted(sent, counting, at=lambda write: write.at, about=_target))
    if len(counted) <= bounds.requests(hold.length, served=served):
        return
    targets = Counter(f"{write.verb} {write.resource}/{write.name}" for write in counted)
    most, times = targets.most_common(1)[0]
    yield finding(
        _NAME, Verdict.VIOLATES, point.name,
        f"The operator sent {count(len(counted), 'mutating request')} in the {seconds(hold.length)} "
        f"before {point.name}, at rest, where {bounds.requests(1.0, served=served):g} a second are "
        f"allowed; {times} of them were {most}",
        first_at=counted[0].at, last_at=counted[-1].at, requests=dict(targets),
    )  # fmt: skip


def _events(case: Case, point: CasePoint, counting: _Counting) -> Iterator[Finding]:
    """Events that the operator emits about resting objects, more than `write_rate` a second. Those
    that tell of what happened before the window are only late."""
    hold = point.hold
    sent = [
        change
        for change in case.log.changes(counting.begin, hold.end)
        if change.obj.kind == "Event" and case.log.writer(change) is Actor.OPERATOR
    ]
    counted = list(_counted(sent, counting, at=_said, about=_subject))
    if len(counted) <= case.bounds.write_rate * hold.length:
        return
    reasons = Counter(str(change.obj.raw.get("reason", "")) for change in counted)
    about = counted[-1].obj.at("involvedObject", default={})
    yield finding(
        _NAME, Verdict.VIOLATES, f"{about.get('kind', 'Event')}/{about.get('name', '')}",
        f"The operator emitted {count(len(counted), 'Event')} in the {seconds(hold.length)} before "
        f"{point.name}, at rest, most of them {reasons.most_common(1)[0][0]} about "
        f"{about.get('kind')} {about.get('name')}",
        first_at=counted[0].at, last_at=counted[-1].at, reasons=dict(reasons),
    )  # fmt: skip


def _counted(
    rows: Iterable[_Row],
    counting: _Counting,
    *,
    at: Callable[[_Row], float],
    about: Callable[[_Row], Hashable],
) -> Iterator[_Row]:
    """Those of the rows that count; after a restart, none that is the first about its object."""
    seen: set[Hashable] = set()
    for row in rows:
        again = counting.restarted_at is None or about(row) in seen
        seen.add(about(row))
        if again and at(row) > counting.since:
            yield row


def _counting(case: Case, point: CasePoint) -> _Counting:
    hold = point.hold
    # However long ago: a program was seen to take 4 s from its start to its first request.
    started = max(case.operator_starts(0.0, hold.end), default=None)
    if started is None:
        return _Counting(since=hold.start, restarted_at=None)
    since = max(hold.start, _first_sign(case, started, hold.end) + FIRST_PASS)
    # Of a start before the case, the case's objects were not there to be listed.
    in_case = started > case.history.steps[0].sent_at
    return _Counting(since=since, restarted_at=started if in_case else None)


def _first_sign(case: Case, started: float, end: float) -> float:
    """When it first did something here after its start."""
    signs = [write.at for write in case.log.requests(started, end)]
    changes = case.log.changes(started, end)
    signs += [change.at for change in changes if case.log.writer(change) is Actor.OPERATOR]
    return min(signs, default=started)


def _target(write: Write) -> Hashable:
    return write.verb, write.resource, write.subresource, write.namespace, write.name


def _subject(event: Change) -> Hashable:
    about = event.obj.at("involvedObject", default={})
    return about.get("kind"), about.get("name"), event.obj.raw.get("reason")


def _said(event: Change) -> float:
    return said_at(event.obj) or event.at
