"""Watches an operator's pods while a run lasts: events, and the log of each pod."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

from conformance.history.records import OperatorEvent, OperatorEventKind
from conformance.model.crash import CrashScanner
from conformance.model.errors import InfraError
from conformance.operator.pods.deployed import Deployed
from conformance.operator.pods.logs import PodLogs
from conformance.operator.pods.observer import Observer

LOOK_SECONDS = 0.25
"""Between two looks at the pods: what an event's time may be late by."""


class Watcher:
    """A thread that looks. `on_event` is called from any thread."""

    def __init__(
        self,
        deployed: Deployed,
        *,
        kubeconfig: Path,
        log: Path,
        on_event: Callable[[OperatorEvent], None] | None,
    ) -> None:
        self._deployed = deployed
        self._crashes = CrashScanner()
        self._observer = Observer(deployed.target.container)
        self._on_event = on_event
        self._events: list[OperatorEvent] = []
        self._recording = threading.Lock()
        self._closing = threading.Event()
        self.logs = PodLogs(
            kubeconfig,
            namespace=deployed.target.namespace,
            container=deployed.target.container,
            path=log,
            on_line=self._line,
        )
        self._thread = threading.Thread(target=self._run, name="watch operator", daemon=True)
        self._thread.start()

    @property
    def events(self) -> list[OperatorEvent]:
        """What happened so far, in order."""
        with self._recording:
            return list(self._events)

    def look_away(self) -> None:
        """See no more events: what comes now is the end. Logs are followed on."""
        self._closing.set()
        self._thread.join(LOOK_SECONDS + 10.0)

    def close(self, *, gone: bool = False) -> None:
        """End the thread and the logs. `gone`: the pods are, and their last lines are still read."""
        self.look_away()
        self.logs.close(drain=gone)

    def _run(self) -> None:
        while True:
            # An API server that does not answer for an instant shows nothing: look again.
            with contextlib.suppress(InfraError):
                self._look()
            if self._closing.wait(LOOK_SECONDS):
                return

    def _look(self) -> None:
        pods = self._deployed.pods()
        # After the pods: the note of a planned end is there before a pod of it goes.
        deployment = self._deployed.deployment()
        for pod in pods:
            self.logs.follow(str(pod["metadata"]["uid"]), str(pod["metadata"]["name"]))
        found = self._observer.look(
            deployment, pods, at=time.time(), last_line=self.logs.last_line()
        )
        for event in found:
            if event.kind is OperatorEventKind.EXITED and (line := self._crashes.ended()):
                self._panicked(line)
            self._add(event)

    def _line(self, line: str) -> None:
        if self._crashes.read(line):
            self._panicked(line)

    def _panicked(self, line: str) -> None:
        text = line.strip()[:300]
        self._add(OperatorEvent(kind=OperatorEventKind.PANIC, at=time.time(), text=text))

    def _add(self, event: OperatorEvent) -> None:
        with self._recording:
            self._events.append(event)
        if self._on_event is not None:
            self._on_event(event)
