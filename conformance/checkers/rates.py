"""How much an operator does in a hold window that changes nothing: requests, and Events it emits.

An operator that starts lists everything and looks at each object once, which takes a no-op write and
some Events an object. That pass is no unrest, whenever it comes: /readyz may well say ok before it
(seen), and each controller begins once its own caches are filled (3 s apart were seen of one operator
in a pod). What it changes counts all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from conformance.checkers.windows import Window
from conformance.checkers.words import seconds
from conformance.history.history import History
from conformance.history.records import Moment, OperatorEventKind, Write
from conformance.model.kinds import Layer
from conformance.model.verdict import CheckerName, Finding, Verdict
from conformance.rules.changes import Change, said_at
from conformance.rules.writes import log_of

_Row = TypeVar("_Row", Write, Change)
_NAME = CheckerName.QUIESCENCE
# How long a pass over a case's objects may take, seconds from the operator's first request there:
# 0.5 s were measured of builds with one graph. It may look at an object more than once in it.
_FIRST_PASS = 2.0


def requests(history: History, moment: Moment, hold: Window) -> list[Finding]:
    """Mutating requests in the window, more than `write_rate` a second for each graph served."""
    log, started = log_of(history), _started(history, hold)
    sent = log.requests(hold.start if started is None else started, hold.end)
    counted = list(_counted(history, hold, sent, at=lambda write: write.at, about=_target))
    length = hold.end - hold.start
    served = len(moment.graphs) + len(moment.components)
    if len(counted) <= history.bounds.requests(length, served=served):
        return []
    targets = Counter(f"{write.verb} {write.resource}/{write.name}" for write in counted)
    most, count = targets.most_common(1)[0]
    return [
        Finding(
            checker=_NAME,
            verdict=Verdict.VIOLATES,
            subject=moment.name,
            message=f"The operator sent {len(counted)} mutating requests in the "
            f"{seconds(length)} before {moment.name}, at rest, where "
            f"{history.bounds.requests(1.0, served=served):g} a second are allowed; {count} of them "
            f"were {most}.",
            first_at=counted[0].at,
            last_at=counted[-1].at,
            evidence={"requests": dict(targets)},
        )
    ]


def events(history: History, moment: Moment, hold: Window) -> list[Finding]:
    """Events that the operator emits about resting objects, more than `write_rate` a second. Those
    that tell of what happened before the window are only late."""
    log, started = log_of(history), _started(history, hold)
    sent = [
        change
        for change in log.changes(hold.start if started is None else started, hold.end)
        if change.obj.kind == "Event" and log.writer(change) is Layer.OPERATOR
    ]
    counted = list(_counted(history, hold, sent, at=_said, about=_subject))
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
            f"{seconds(hold.end - hold.start)} before {moment.name}, at rest, most of them "
            f"{reasons.most_common(1)[0][0]} about {about.get('kind')} {about.get('name')}.",
            first_at=counted[0].at,
            last_at=counted[-1].at,
            evidence={"reasons": dict(reasons)},
        )
    ]


def _counted(
    history: History,
    hold: Window,
    rows: Iterable[_Row],
    *,
    at: Callable[[_Row], float],
    about: Callable[[_Row], Hashable],
) -> Iterator[_Row]:
    """Those of the rows since the last start that are of the window, and of no first pass."""
    since, started = hold.start, _started(history, hold)
    if started is not None:
        since = max(since, _first_sign(history, started, hold) + _FIRST_PASS)
    # Of a start before the case, the case's objects were not there to be listed.
    looks_once = started is not None and started > history.steps[0].sent_at
    seen: set[Hashable] = set()
    for row in rows:
        again = about(row) in seen or not looks_once
        seen.add(about(row))
        if again and at(row) > since:
            yield row


def _started(history: History, hold: Window) -> float | None:
    """When the operator was last started; however long ago, for a program was seen to take 4 s from
    its start to its first request."""
    starts = [e.at for e in history.operator_events if e.kind is OperatorEventKind.STARTED]
    return max((at for at in starts if at < hold.end), default=None)


def _first_sign(history: History, started: float, hold: Window) -> float:
    """When it first did something here after its start."""
    log = log_of(history)
    signs = [write.at for write in log.requests(started, hold.end)]
    changes = log.changes(started, hold.end)
    signs += [change.at for change in changes if log.writer(change) is Layer.OPERATOR]
    return min(signs, default=started)


def _target(write: Write) -> Hashable:
    return write.verb, write.resource, write.subresource, write.namespace, write.name


def _subject(event: Change) -> Hashable:
    about = event.obj.at("involvedObject", default={})
    return about.get("kind"), about.get("name"), event.obj.raw.get("reason")


def _said(event: Change) -> float:
    return said_at(event.obj) or event.at
