"""Waiting until a state is reached and held. Polling only decides when to stop looking.

Until the deadline a mismatch or a disturbing write starts the hold window again; a hold window that
has not begun by the deadline ends the wait.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from conformance.driver.waiting import WaitLine, until
from conformance.history.load import had_turn
from conformance.history.records import CheckpointEnd, Event, EventType, Header, Load
from conformance.judge.changes import Part, changed_parts
from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import Snapshot, Wanted
from conformance.judge.state.match import blocked_mismatches, mismatches, progress
from conformance.judge.state.status import claim, unobserved
from conformance.judge.writers import WriteLog
from conformance.model.bounds import Bounds
from conformance.model.graph import PLURALS
from conformance.model.kinds import EVIDENCE_KINDS, WORKLOADS, of_platform
from conformance.model.state import Obj, State
from conformance.record.tail import Tail

# A platform that never comes to rest must not keep a case for ever.
_LONGEST = 2.0
# Graphs and components: their status is what the operator says.
_CLAIMING = frozenset(PLURALS)


class LiveRecord:
    """The record of a namespace while it is being written, and the log of its writes, kept in step
    also when others poll the tail."""

    def __init__(self, tail: Tail, header: Header) -> None:
        self.tail = tail
        self.log = WriteLog(header)
        self.loads: list[Load] = []
        self._taken = 0

    def poll(self) -> list[Event]:
        """Events since the last call. Raises InfraError if the recorder is dead."""
        self.tail.poll()
        new = self.tail.records[self._taken :]
        self._taken += len(new)
        for record in new:
            self.log.add(record)
            if isinstance(record, Load):
                self.loads.append(record)
        return [record for record in new if isinstance(record, Event)]

    def state(self) -> State:
        """The namespace as recorded so far."""
        return self.tail.state()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitResult:
    """How a wait ended. Times are seconds since the epoch."""

    end: CheckpointEnd
    reached_at: float | None
    ended_at: float
    turn: float
    """Seconds of the wait in which the operator had its turn."""
    deadline: float
    """Seconds that were allowed in the end: the deadline, and more if the platform was slow."""
    mismatches: tuple[Mismatch, ...]


@dataclass(kw_only=True)
class Wait:
    """One wait for these graphs. Durations are seconds, `since` is seconds since the epoch."""

    record: LiveRecord
    wanted: Wanted
    bounds: Bounds
    since: float
    deadline: float
    hold: float
    blocked: bool = False
    """The target cannot be reached. Every change but evidence restarts the hold window then, status and
    platform included."""
    requests: int | None = None
    """More mutating requests of the operator than this in one hold window, of whatever effect, restart
    it: an operator that backs off from what it cannot do comes to rest."""
    what: str = ""
    """What is said before what is still awaited."""
    held_since: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._longest = _LONGEST * self.deadline
        self._generations: dict[str, int] = {}
        self._claims = {obj.uid: obj for obj in self.record.state() if obj.kind in _CLAIMING}
        self._mismatches: tuple[Mismatch, ...] | None = None

    def look(self, state: State) -> Sequence[Mismatch]:
        """What of a state does not match."""
        snapshot = Snapshot(state=state, wanted=self.wanted)
        if self.blocked:
            return blocked_mismatches(snapshot)
        return mismatches(snapshot) or unobserved(snapshot)

    def describe(self) -> str:
        """What is awaited just now."""
        return self.what + progress(Snapshot(state=self.record.state(), wanted=self.wanted))

    def until_held(self, line: WaitLine) -> WaitResult:
        """Look until the state matches and has stayed so for the hold window, or the deadline; `line`
        meanwhile shows what is awaited. Raises InfraError when the recorder died."""

        def attempt() -> WaitResult | None:
            result = self.step()
            held = self.held_since
            began, bound = (self.since, self.deadline) if held is None else (held, self.hold)
            line.show(self.describe, elapsed=time.time() - began, bound=bound)
            return result

        result = until(attempt, every=self.bounds.poll)  # `step` knows when the wait ends
        line.clear()
        assert result is not None
        return result

    def step(self) -> WaitResult | None:
        """Look once; None while the wait goes on."""
        events = self.record.poll()
        arrived = [event.at for event in events]
        moved = [event.at for event in events if self._moves(event)]
        for event in events:
            if self._by_platform(event) and event.at >= self.since:
                allowed = min(event.at - self.since + self.bounds.follow, self._longest)
                self.deadline = max(self.deadline, allowed)
        if arrived or self._mismatches is None:
            self._mismatches = tuple(self.look(self.record.state()))
        now = time.time()
        if self._mismatches:
            self.held_since = None
        elif self.held_since is None:
            # What arrived just now was true when it arrived, not only when it was looked at; but
            # nothing was before the API's answer.
            self.held_since = max(self.since, max(arrived, default=now))
        if self.held_since is not None:
            counted = [write.change.at for write in self.record.log.counted(self.held_since, now)]
            self.held_since = max([self.held_since, *counted, *(moved if self.blocked else ())])
        if self.held_since is not None and now - self.held_since >= self.hold:
            # When the operator last sent a request too many for a hold window that ends now.
            busy = None
            if self.requests is not None:
                start = now - self.hold
                busy = self.record.log.too_many(start, now, allowed=self.requests)
            if busy is None:
                return self._result(CheckpointEnd.HELD)
            self.held_since = busy
        if self.held_since is not None and self._turn(self.held_since) <= self.deadline:
            return None
        if self._turn(now) > self.deadline:
            return self._result(CheckpointEnd.DEADLINE)
        if now - self.since > self.bounds.patience * self.deadline:
            return self._result(CheckpointEnd.LATE)
        return None

    def _turn(self, until: float) -> float:
        """The time that counts against the deadline."""
        return had_turn(self.record.loads, self.since, until)

    def _by_platform(self, event: Event) -> bool:
        """A change below the workloads, or of a workload without a new generation: its status."""
        obj = event.obj
        if of_platform(obj) or obj.kind not in WORKLOADS:
            return of_platform(obj)
        before = self._generations.get(obj.uid)
        self._generations[obj.uid] = obj.generation
        return event.type is EventType.MODIFIED and before == obj.generation

    def _moves(self, event: Event) -> bool:
        """True unless the event is evidence, or a status written again: an operator may repeat what
        it says, with a new time or in other words, as often as it likes."""
        obj = event.obj
        if obj.kind not in _CLAIMING:
            return obj.kind not in EVIDENCE_KINDS
        before: Obj | None = self._claims.get(obj.uid)
        self._claims[obj.uid] = obj
        if before is None or event.type is not EventType.MODIFIED:
            return True
        status_only = changed_parts(before, obj) in ((), (Part.STATUS,))
        return not status_only or claim(before.status) != claim(obj.status)

    def _result(self, end: CheckpointEnd) -> WaitResult:
        return WaitResult(
            end=end, reached_at=self.held_since, ended_at=time.time(), turn=self._turn(time.time()),
            deadline=self.deadline, mismatches=self._mismatches or (),
        )  # fmt: skip
