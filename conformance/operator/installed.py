"""An operator on a cluster, as a process or in pods: what it is, what rules it, what happened to it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

from conformance.history.records import OperatorEvent, OperatorEventKind
from conformance.model.crash import CrashScanner
from conformance.model.errors import InfraError
from conformance.operator.probes import Probe
from conformance.operator.profiles import LoadedProfile

OnEvent: TypeAlias = Callable[[OperatorEvent], None]
_ENDS = (OperatorEventKind.STOPPED, OperatorEventKind.KILLED, OperatorEventKind.EXITED)


class StartError(InfraError):
    """The operator did not become ready: it ended, or the time was up."""


class OperatorControl(Protocol):
    """Stops, kills and starts one operator."""

    def alive(self) -> bool:
        """True if it runs just now."""

    def stop(self) -> None:
        """End it in an orderly way, and wait until it is gone. Raises InfraError if it stays."""

    def kill(self) -> None:
        """End it at once, as a node failure would."""

    def start(self) -> None:
        """Start it again and wait until it is ready. Raises StartError with the reason."""

    def wait_ready(self) -> None:
        """Wait until it is ready after a start. Raises StartError with the reason."""

    def require_running(self, when: str) -> None:
        """Raise StartError with the reason if it does not run; `when` says what was being done."""

    def supervise(self) -> None:
        """From now on see to it that it is started again after an exit that nobody asked for: the exit
        is on record, and other cases need an operator."""


class OperatorEvents:
    """The events of one operator, in order. `on_event` gets each as it comes, from any thread."""

    def __init__(self, on_event: OnEvent | None = None) -> None:
        self._on_event = on_event
        self._events: list[OperatorEvent] = []
        self._crashes = CrashScanner()
        self._lock = threading.Lock()

    @property
    def so_far(self) -> list[OperatorEvent]:
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


@dataclass(kw_only=True, eq=False)
class InstalledOperator:
    """What `install` returns: ready, probed and warm. Use as a context manager, or call `close`."""

    loaded: LoadedProfile
    control: OperatorControl
    attachable: Mapping[str, Any] | None = None
    """Plain data from which another process gets the control (`pods.attach`); None if only its owner
    has it."""
    users: Sequence[str]
    """User names under which it writes, as in the audit log."""
    log_path: Path
    """Its log: output of all its starts, growing."""
    event_log: OperatorEvents
    ending: contextlib.ExitStack
    """What closes it."""
    served: dict[str, list[str]] = field(default_factory=dict)
    """Resource → API versions that the installed CRDs serve."""
    probes: list[Probe] = field(default_factory=list)
    """What the live API showed of each declared feature."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Milestone → seconds since the installation began."""

    @property
    def events(self) -> list[OperatorEvent]:
        """What happened to it so far. An EXITED among them is one that nobody asked for: a finding."""
        return self.event_log.so_far

    def close(self) -> None:
        """End it for good, and remove what `install` made where that does not go with the cluster.
        Raises InfraError if something stays; what can be removed is."""
        self.ending.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
