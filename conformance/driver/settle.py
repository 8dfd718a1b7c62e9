"""Waiting for a verdict moment: reached, and stays reached. Polling only decides when to stop looking.

Until the deadline a mismatch or a disturbing write starts the hold window again; a hold that has not
begun by the deadline ends the wait (design: Deadline and hold).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tenacity import Retrying, retry_if_result, wait_fixed

from conformance.driver.progress import Progress
from conformance.history.records import Event, EventType, MomentEnd
from conformance.model.kinds import PLATFORM_KINDS
from conformance.model.state import Obj, State
from conformance.record.tail import Tail
from conformance.rules.base import Mismatch

_EVIDENCE_KINDS = {"Event", "Endpoints", "EndpointSlice"}
Look = Callable[[State], Sequence[Mismatch]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How a wait ended. Times are seconds since the epoch."""

    end: MomentEnd
    reached_at: float | None
    ended_at: float
    mismatches: tuple[Mismatch, ...]


def settle(
    tail: Tail,
    *,
    look: Look,
    since: float,
    deadline: float,
    hold: float,
    poll: float,
    progress: Progress,
    what: Callable[[State], str],
) -> Settled:
    """Look at the recorded state until it matches and has stayed so for `hold`, or the deadline.

    `look` returns what still does not match. Raises InfraError when the recorder died: nothing can
    be concluded then.
    """
    watch = _Watch(tail=tail, look=look, since=since, deadline=deadline, hold=hold)

    def attempt() -> Settled | None:
        result = watch.step()
        progress.waiting(
            what(tail.state()), elapsed=time.time() - since,
            bound=hold if watch.steady_since is not None else deadline,
        )  # fmt: skip
        return result

    # The end of the wait is decided by `watch`, which knows both bounds; tenacity paces the looks.
    retrying = Retrying(
        retry=retry_if_result(lambda result: result is None), wait=wait_fixed(poll), reraise=True
    )
    settled = retrying(attempt)
    progress.clear()
    assert settled is not None, "tenacity gave up although it was told no end"
    return settled


class _Watch:
    """The state of one wait."""

    def __init__(
        self, *, tail: Tail, look: Look, since: float, deadline: float, hold: float
    ) -> None:
        self._tail = tail
        self._look = look
        self._since = since
        self._deadline = deadline
        self._hold = hold
        self._known: dict[str, Obj] = {obj.uid: obj for obj in tail.state()}
        self._problems: tuple[Mismatch, ...] | None = None
        self.steady_since: float | None = None

    def step(self) -> Settled | None:
        records = self._tail.poll()
        events = [record for record in records if isinstance(record, Event)]
        disturbed = [event.at for event in events if self._disturbs(event)]
        if events or self._problems is None:
            self._problems = tuple(self._look(self._tail.state()))
        now = time.time()
        if self._problems:
            self.steady_since = None
        elif self.steady_since is None:
            # What arrived just now was true when it arrived, not only when it was looked at.
            self.steady_since = max((event.at for event in events), default=now)
        if self.steady_since is not None and disturbed:
            self.steady_since = max(self.steady_since, *disturbed)
        if self.steady_since is not None and now - self.steady_since >= self._hold:
            return self.settled(MomentEnd.HELD)
        begun = self.steady_since is not None and self.steady_since <= self._since + self._deadline
        if now > self._since + self._deadline and not begun:
            return self.settled(MomentEnd.DEADLINE)
        return None

    def _disturbs(self, event: Event) -> bool:
        """True for a write that may count: not status, not the platform's objects."""
        obj = event.obj
        old = self._known.get(obj.uid)
        if event.type is EventType.DELETED:
            self._known.pop(obj.uid, None)
        else:
            self._known[obj.uid] = obj
        if obj.kind in PLATFORM_KINDS or obj.kind in _EVIDENCE_KINDS:
            return False
        if old is None or event.type is EventType.DELETED:
            return True
        return (
            old.spec != obj.spec
            or old.labels != obj.labels
            or old.annotations != obj.annotations
            or old.owners != obj.owners
            or old.finalizers != obj.finalizers
        )

    def settled(self, end: MomentEnd) -> Settled:
        return Settled(
            end=end,
            reached_at=self.steady_since,
            ended_at=time.time(),
            mismatches=self._problems or (),
        )
