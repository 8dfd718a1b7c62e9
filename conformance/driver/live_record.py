"""The record of a namespace while it is being written, and which writes in it count."""

from __future__ import annotations

from conformance.history.records import Event, Header
from conformance.judge.writers import CountedWrite, WriteLog
from conformance.model.state import State
from conformance.record.tail import Tail


class LiveRecord:
    """A tail and the log of its writes, kept in step also when others poll the tail."""

    def __init__(self, tail: Tail, header: Header) -> None:
        self.tail = tail
        self._log = WriteLog(header)
        self._taken = 0

    def poll(self) -> list[Event]:
        """Events since the last call. Raises InfraError if the recorder is dead."""
        self.tail.poll()
        new = self.tail.records[self._taken :]
        self._taken += len(new)
        for record in new:
            self._log.add(record)
        return [record for record in new if isinstance(record, Event)]

    def state(self) -> State:
        """The namespace as recorded so far."""
        return self.tail.state()

    def counted(self, start: float, end: float) -> list[CountedWrite]:
        """Writes that restart a hold window, with `start` < time <= `end`."""
        return self._log.counted(start, end)

    def too_many(self, start: float, end: float, *, allowed: int) -> float | None:
        """When the operator last sent one request too many (WriteLog.too_many); None if never."""
        return self._log.too_many(start, end, allowed=allowed)
