"""What happened to an operator: `OperatorEvents`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from conformance.history.records import OperatorEvent, OperatorEventKind
from conformance.model.crash import CrashScanner

OnEvent = Callable[[OperatorEvent], None]
_ENDS = (OperatorEventKind.STOPPED, OperatorEventKind.KILLED, OperatorEventKind.EXITED)


class OperatorEvents:
    """The events of one operator, in order. `on_event` gets each as it comes, from any thread."""

    def __init__(self, on_event: OnEvent | None = None) -> None:
        self._on_event = on_event
        self._events: list[OperatorEvent] = []
        self._crashes = CrashScanner()
        self._lock = threading.Lock()

    @property
    def so_far(self) -> list[OperatorEvent]:
        """An EXITED among them that nobody asked for is a finding."""
        with self._lock:
            return list(self._events)

    def add(self, kind: OperatorEventKind, text: str = "") -> None:
        """Note what happens just now. An exit with a traceback as its last words is a crash, too."""
        if kind in _ENDS:
            with self._lock:
                traceback = self._crashes.ended()
            if traceback and kind is OperatorEventKind.EXITED:
                self._note(OperatorEventKind.PANIC, traceback)
        self._note(kind, text)

    def read(self, line: str) -> None:
        """Look for a crash in the next line of the operator's log."""
        with self._lock:
            crashed = self._crashes.read(line)
        if crashed:
            self._note(OperatorEventKind.PANIC, line.strip()[:300])

    def _note(self, kind: OperatorEventKind, text: str) -> None:
        event = OperatorEvent(kind=kind, at=time.time(), text=text)
        with self._lock:
            self._events.append(event)
        if self._on_event is not None:
            self._on_event(event)
