"""How much an operator does in a hold window that changes nothing: requests, and Events it emits.

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

from conformance.history.history import History
from conformance.history.records import Checkpoint, OperatorEventKind, Write
from conformance.judge.checks.windows import Window
from conformance.judge.checks.words import seconds
from conformance.judge.state.changes import Change, said_at
from conformance.judge.state.writes import log_of
from conformance.model.kinds import Actor
from conformance.model.verdict import CheckerName, Finding, Verdict

_Row = TypeVar("_Row", Write, Change)
_NAME = CheckerName.QUIESCENCE
# How long a pass over a case's objects may take, seconds from the operator's first request there:
# 0.5 s were measured of builds with one graph. It may look at an object more than once in it.
_FIRST_PASS = 2.0


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


def check(history: History, checkpoint: Checkpoint, hold: Window) -> list[Finding]:
    """Judge the requests and the Events of a hold window."""
    counting = _counting(history, hold)
    return [
        *_requests(history, checkpoint, hold, counting),
        *_events(history, checkpoint, hold, counting),
    ]


def _requests(
    history: History, checkpoint: Checkpoint, hold: Window, counting: _Counting
) -> list[Finding]:
    """Mutating requests in the window, more than `write_rate` a second for each graph served."""
    sent = log_of(history).requests(counting.begin, hold.end)
    counted = list(_counted(sent, counting, at=lambda write: write.at, about=_target))
    length = hold.end - hold.start
    served = len(checkpoint.graphs) + len(checkpoint.components)
    if len(counted) <= history.bounds.requests(length, served=served):
        return []
    targets = Counter(f"{write.verb} {write.resource}/{write.name}" for write in counted)
    most, count = targets.most_common(1)[0]
    return [
        Finding(
            checker=_NAME,
            verdict=Verdict.VIOLATES,
            subject=checkpoint.name,
            message=f"The operator sent {len(counted)} mutating requests in the "
            f"{seconds(length)} before {checkpoint.name}, at rest, where "
            f"{history.bounds.requests(1.0, served=served):g} a second are allowed; {count} of them "
            f"were {most}.",
            first_at=counted[0].at,
            last_at=counted[-1].at,
            evidence={"requests": dict(targets)},
        )
    ]


def _events(
    history: History, checkpoint: Checkpoint, hold: Window, counting: _Counting
) -> list[Finding]:
    """Events that the operator emits about resting objects, more than `write_rate` a second. Those
    that tell of what happened before the window are only late."""
    log = log_of(history)
    sent = [
        change
        for change in log.changes(counting.begin, hold.end)
        if change.obj.kind == "Event" and log.writer(change) is Actor.OPERATOR
    ]
    counted = list(_counted(sent, counting, at=_said, about=_subject))
    if len(counted) <= history.bounds.write_rate * (hold.end - hold.start):
        return []
    reasons = Counter(str(change.obj.raw.get("reason", "")) for change in counted)
    about = counted[-1].obj.at("involvedObject", default={})
    return [
        Finding(
            checker=_NAME,
            verdict=Verdict.VIOLATES,
            subject=f"{about.get('kind', 'Event')}/{about.get('name', '')}",
            message=f"The operator emitted {len(counted)} events in the "
            f"{seconds(hold.end - hold.start)} before {checkpoint.name}, at rest, most of them "
            f"{reasons.most_common(1)[0][0]} about {about.get('kind')} {about.get('name')}.",
            first_at=counted[0].at,
            last_at=counted[-1].at,
            evidence={"reasons": dict(reasons)},
        )
    ]


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


def _counting(history: History, hold: Window) -> _Counting:
    starts = [e.at for e in history.operator_events if e.kind is OperatorEventKind.STARTED]
    # However long ago: a program was seen to take 4 s from its start to its first request.
    started = max((at for at in starts if at < hold.end), default=None)
    if started is None:
        return _Counting(since=hold.start, restarted_at=None)
    since = max(hold.start, _first_sign(history, started, hold) + _FIRST_PASS)
    # Of a start before the case, the case's objects were not there to be listed.
    in_case = started > history.steps[0].sent_at
    return _Counting(since=since, restarted_at=started if in_case else None)


def _first_sign(history: History, started: float, hold: Window) -> float:
    """When it first did something here after its start."""
    log = log_of(history)
    signs = [write.at for write in log.requests(started, hold.end)]
    changes = log.changes(started, hold.end)
    signs += [change.at for change in changes if log.writer(change) is Actor.OPERATOR]
    return min(signs, default=started)


def _target(write: Write) -> Hashable:
    return write.verb, write.resource, write.subresource, write.namespace, write.name


def _subject(event: Change) -> Hashable:
    about = event.obj.at("involvedObject", default={})
    return about.get("kind"), about.get("name"), event.obj.raw.get("reason")


def _said(event: Change) -> float:
    return said_at(event.obj) or event.at
