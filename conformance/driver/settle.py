"""Waiting for a checkpoint: reached, and stays reached. Polling only decides when to stop looking.

Until the deadline a mismatch or a disturbing write starts the hold window again; a hold that has not
begun by the deadline ends the wait (design: Deadline and hold).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tenacity import Retrying, retry_if_result, wait_fixed

from conformance.driver.progress import Progress
from conformance.driver.reading import Reading
from conformance.history.records import CheckpointEnd, Event, EventType
from conformance.judge.state.base import Mismatch
from conformance.judge.state.changes import EVIDENCE_KINDS, Part, changed_parts
from conformance.judge.state.status import claim
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import PLATFORM_KINDS, WORKLOADS
from conformance.model.state import State

# A platform that never comes to rest must not keep a case for ever.
_LONGEST = 2.0
# Kinds whose status is what the operator says.
_CLAIMING = frozenset({GRAPH_KIND, COMPONENT_KIND})

Look = Callable[[State], Sequence[Mismatch]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How a wait ended. Times are seconds since the epoch."""

    end: CheckpointEnd
    reached_at: float | None
    ended_at: float
    deadline: float
    """Seconds that were allowed in the end: the deadline, and more if the platform was slow."""
    mismatches: tuple[Mismatch, ...]


def settle(
    reading: Reading,
    *,
    look: Look,
    since: float,
    deadline: float,
    follow: float,
    hold: float,
    poll: float,
    progress: Progress,
    what: Callable[[State], str],
    quiet: bool = False,
    requests: int | None = None,
) -> Settled:
    """Look at the recorded state until it matches and has stayed so for `hold`, or the deadline.

    `look` returns what still does not match. With `quiet` every change but evidence begins the hold
    anew, status and platform included: what is still on its way somewhere is at no rest. A status
    of a graph or component that claims what it claimed before is no change. More than
    `requests` mutating requests of the operator in one hold, no-ops and refused ones included, begin
    it anew after the last one too many: an operator that backs off from what it cannot do comes to
    rest, one that does not is seen at the deadline. `follow`: seconds that the operator has after
    what the platform did last; see `Bounds.follow`. Raises InfraError when the recorder died:
    nothing can be concluded then.
    """
    watch = _Watch(
        reading=reading, look=look, since=since, deadline=deadline, follow=follow, hold=hold,
        quiet=quiet, requests=requests,
    )  # fmt: skip

    def attempt() -> Settled | None:
        result = watch.step()
        progress.waiting(
            lambda: what(reading.state()), elapsed=time.time() - since,
            bound=hold if watch.steady_since is not None else watch.deadline,
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
        self,
        *,
        reading: Reading,
        look: Look,
        since: float,
        deadline: float,
        follow: float,
        hold: float,
        quiet: bool,
        requests: int | None = None,
    ) -> None:
        self._reading = reading
        self._look = look
        self._since = since
        self.deadline = deadline
        self._longest = _LONGEST * deadline
        self._follow = follow
        self._generations: dict[str, int] = {}
        self._claims = {obj.uid: obj for obj in reading.state() if obj.kind in _CLAIMING}
        self._hold = hold
        self._quiet = quiet
        self._requests = requests
        self._problems: tuple[Mismatch, ...] | None = None
        self.steady_since: float | None = None

    def step(self) -> Settled | None:
        events = self._reading.poll()
        arrived = [event.at for event in events]
        moving = [event for event in events if self._moves(event)]
        for event in events:
            if self._by_platform(event) and event.at >= self._since:
                allowed = min(event.at - self._since + self._follow, self._longest)
                self.deadline = max(self.deadline, allowed)
        if arrived or self._problems is None:
            self._problems = tuple(self._look(self._reading.state()))
        now = time.time()
        if self._problems:
            self.steady_since = None
        elif self.steady_since is None:
            # What arrived just now was true when it arrived, not only when it was looked at; but
            # nothing that the answer was still to come for.
            self.steady_since = max(self._since, max(arrived, default=now))
        if self.steady_since is not None:
            counted = self._reading.counted(self.steady_since, now)
            moves = [write.change.at for write in counted]
            if self._quiet:
                moves += [event.at for event in moving]
            self.steady_since = max([self.steady_since, *moves])
        if self.steady_since is not None and now - self.steady_since >= self._hold:
            busy = self._busy(now)
            if busy is None:
                return self._settled(CheckpointEnd.HELD)
            self.steady_since = busy
        begun = self.steady_since is not None and self.steady_since <= self._since + self.deadline
        if now > self._since + self.deadline and not begun:
            return self._settled(CheckpointEnd.DEADLINE)
        return None

    def _by_platform(self, event: Event) -> bool:
        """A change below the workloads, or of a workload without a new generation: its status."""
        obj = event.obj
        if obj.kind not in WORKLOADS:
            return obj.kind in PLATFORM_KINDS
        before = self._generations.get(obj.uid)
        self._generations[obj.uid] = obj.generation
        return event.type is EventType.MODIFIED and before == obj.generation

    def _moves(self, event: Event) -> bool:
        """True unless the event is evidence, or a status written again: an operator may repeat what
        it says, with a new time or in other words, as often as it likes."""
        obj = event.obj
        if obj.kind not in _CLAIMING:
            return obj.kind not in EVIDENCE_KINDS
        before = self._claims.get(obj.uid)
        self._claims[obj.uid] = obj
        if before is None or event.type is not EventType.MODIFIED:
            return True
        status_only = changed_parts(before, obj) in ((), (Part.STATUS,))
        return not status_only or claim(before.status) != claim(obj.status)

    def _busy(self, now: float) -> float | None:
        """When the operator last sent a request too many for a hold that ends now."""
        if self._requests is None:
            return None
        return self._reading.too_many(now - self._hold, now, allowed=self._requests)

    def _settled(self, end: CheckpointEnd) -> Settled:
        return Settled(
            end=end,
            reached_at=self.steady_since,
            ended_at=time.time(),
            deadline=self.deadline,
            mismatches=self._problems or (),
        )
