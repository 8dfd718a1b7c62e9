"""How much an operator does in a hold window that changes nothing: requests, and Events it emits.
Part of `quiescence`.

An operator that starts looks at each object once, which takes a no-op write and some Events an object.
That pass is no unrest, whenever it comes: /readyz may say ok before it, and each controller begins once
its own caches are filled (3 s apart were seen).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from conformance.history.records import Write
from conformance.judge.case import CasePoint
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
    """What the operator does counts after `since`: the start of the window, or the end of a first pass.
    To tell a first look from another it is looked at from `begin` on. `restarted`: it was started
    within the case, and its objects listed."""

    since: float
    begin: float
    restarted: bool

    def counted(
        self, rows: Iterable[_Row], at: Callable[[_Row], float], about: Callable[[_Row], Hashable]
    ) -> Iterator[_Row]:
        """Those of the rows that count; after a restart, none that is the first about its object."""
        seen: set[Hashable] = set()
        for row in rows:
            again = not self.restarted or about(row) in seen
            seen.add(about(row))
            if again and at(row) > self.since:
                yield row


def rates(point: CasePoint) -> Iterator[Finding]:
    """Judge the requests and the Events of the hold window that ends at a checkpoint."""
    counting = _counting(point)
    yield from _requests(point, counting)
    yield from _events(point, counting)


def _requests(point: CasePoint, counting: _Counting) -> Iterator[Finding]:
    """Mutating requests in the window, more than `write_rate` a second for each graph served."""
    hold, bounds, served = point.hold, point.case.bounds, len(point.graphs)
    sent = point.case.log.requests(counting.begin, hold.end)
    counted = list(counting.counted(sent, lambda write: write.at, _target))
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


def _events(point: CasePoint, counting: _Counting) -> Iterator[Finding]:
    """Events that the operator emits about resting objects, more than `write_rate` a second. Those
    that tell of what happened before the window are only late."""
    log, hold = point.case.log, point.hold
    sent = [
        change
        for change in log.changes(counting.begin, hold.end)
        if change.obj.kind == "Event" and log.writer(change) is Actor.OPERATOR
    ]
    counted = list(counting.counted(sent, lambda one: said_at(one.obj) or one.at, _told))
    if len(counted) <= point.case.bounds.write_rate * hold.length:
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


def _target(write: Write) -> Hashable:
    return write.verb, write.resource, write.subresource, write.namespace, write.name


def _told(event: Change) -> Hashable:
    about = event.obj.at("involvedObject", default={})
    return about.get("kind"), about.get("name"), event.obj.raw.get("reason")


def _counting(point: CasePoint) -> _Counting:
    case, hold = point.case, point.hold
    # However long ago: a program was seen to take 4 s from its start to its first request.
    started = max(case.operator_starts(0.0, hold.end), default=None)
    if started is None:
        return _Counting(since=hold.start, begin=hold.start, restarted=False)
    # Its first sign of life here.
    signs = [write.at for write in case.log.requests(started, hold.end)]
    changes = case.log.changes(started, hold.end)
    signs += [change.at for change in changes if case.log.writer(change) is Actor.OPERATOR]
    since = max(hold.start, case.after_turn(min(signs, default=started), FIRST_PASS))
    # Of a start before the case, the case's objects were not there to be listed.
    in_case = started > case.history.steps[0].sent_at
    return _Counting(since=since, begin=started if in_case else since, restarted=in_case)
