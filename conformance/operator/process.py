"""The operator while it runs: stop, kill, start again, and what happened to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import urllib3

from conformance.history.records import OperatorEvent, OperatorEventKind
from conformance.model.crash import CrashScanner
from conformance.model.errors import InfraError
from conformance.operator.cluster import Process

STOP_SECONDS = 10.0
"""A program may need this long to end after SIGTERM; then it is killed."""

_LOOK = 0.5
"""Seconds between two looks at the log for crashes that the program survives."""


class StartError(InfraError):
    """The operator did not become ready: it ended, or the time was up."""


class OperatorProcess:
    """One operator's process, from its first start on. `on_event` is called from any thread."""

    def __init__(
        self,
        process: Process,
        *,
        name: str,
        ready_url: str,
        ready_within: float,
        on_event: Callable[[OperatorEvent], None] | None = None,
    ) -> None:
        """`process` is already started. `ready_within`: seconds from a start to readiness."""
        self.name = name
        self._process = process
        self._ready_url = ready_url
        self._ready_within = ready_within
        self._on_event = on_event
        self._events: list[OperatorEvent] = []
        self._recording = threading.Lock()
        # A case may kill it while the run's own watch starts it again.
        self._control = threading.RLock()
        self._planned: OperatorEventKind | None = None
        self._read = 0
        self._crashes = CrashScanner()
        self._watcher: threading.Thread | None = None
        self._pool = urllib3.PoolManager(cert_reqs="CERT_NONE")
        self._started()

    @property
    def events(self) -> list[OperatorEvent]:
        """What happened to it so far, in order. An EXITED that nobody asked for is a finding."""
        with self._recording:
            return list(self._events)

    @property
    def log_path(self) -> Path:
        """Its log: output and errors of all its starts."""
        return self._process.log

    @property
    def pid(self) -> int | None:
        """Process id of the present or last start."""
        return self._process.pid

    def alive(self) -> bool:
        """True if it runs just now."""
        return self._process.running

    def tail(self, lines: int = 15) -> str:
        """The last lines of its log."""
        return self._process.tail(lines)

    def stop(self) -> None:
        """Ask it to end (SIGTERM), and kill it if it has not after `STOP_SECONDS`."""
        self._end(OperatorEventKind.STOPPED, self._process.terminate)

    def kill(self) -> None:
        """End it at once (SIGKILL), as a node failure would."""
        self._end(OperatorEventKind.KILLED, self._process.kill)

    def start(self) -> None:
        """Run it again and wait until it is ready. Raises StartError if it does not get there."""
        with self._control:
            if self.alive():
                raise InfraError(f"the operator {self.name} already runs (pid {self.pid})")
            self._join()
            self._process.start()
            self._started()
        self.wait_ready()

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def wait_ready(self) -> None:
        """Wait for readiness. Raises StartError, with the end of the log, if it ends or time is
        up."""
        began = time.monotonic()
        while not self._answers():
            seconds = time.monotonic() - began
            self.require_alive(f"{seconds:.1f} s after its start, before it was ready")
            if seconds > self._ready_within:
                raise StartError(
                    f"the operator {self.name} was not ready {seconds:.0f} s after its start: "
                    f"{self._ready_url} (`install.ready`) did not answer 200; {self._last_words()}"
                )
            time.sleep(0.05)
        self._add(OperatorEventKind.READY)

    def require_alive(self, when: str) -> None:
        """Raises StartError, with the end of the log, if it does not run."""
        if not self.alive():
            self._join()
            raise StartError(
                f"the operator {self.name} ended with code {self._process.returncode} {when}; "
                f"{self._last_words()}"
            )

    def _last_words(self) -> str:
        words = self.tail().strip()
        if not words:
            return f"it wrote nothing to its log, {self.log_path}"
        return f"its log, {self.log_path}, ends with:\n{words}"

    def close(self) -> None:
        """End it for good."""
        self.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _answers(self) -> bool:
        if not self._ready_url:
            return self.alive()
        try:
            answer = self._pool.request("GET", self._ready_url, timeout=2.0, retries=False)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == 200

    def _started(self) -> None:
        self._planned = None
        self._add(OperatorEventKind.STARTED, f"pid {self.pid}")
        self._watcher = threading.Thread(target=self._watch, name=f"watch {self.name}", daemon=True)
        self._watcher.start()

    def _end(self, kind: OperatorEventKind, send: Callable[[], None]) -> None:
        with self._control:
            if self.alive():
                self._planned = kind
                send()
                try:
                    self._process.wait(STOP_SECONDS)
                except TimeoutError:
                    self._process.kill()
                    self._process.wait(STOP_SECONDS)
            self._join()

    def _join(self) -> None:
        if self._watcher is not None:
            self._watcher.join(STOP_SECONDS)

    def _watch(self) -> None:
        while True:
            try:
                code = self._process.wait(_LOOK)
                break
            except TimeoutError:
                self._look_for_crashes()
        self._look_for_crashes()
        kind = self._planned or OperatorEventKind.EXITED
        traceback = self._crashes.ended()
        if traceback and kind is OperatorEventKind.EXITED:
            self._add(OperatorEventKind.PANIC, traceback)
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        last = self.tail(1).strip()
        told = kind is OperatorEventKind.EXITED and last
        self._add(kind, f"{ended}; its last line: {last}" if told else ended)

    def _look_for_crashes(self) -> None:
        try:
            with self.log_path.open("rb") as log:
                log.seek(self._read)
                new = log.read()
        except FileNotFoundError:
            return
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.decode("utf-8", "replace").splitlines():
            if self._crashes.read(line):
                self._add(OperatorEventKind.PANIC, line.strip()[:300])

    def _add(self, kind: OperatorEventKind, text: str = "") -> None:
        event = OperatorEvent(kind=kind, at=time.time(), text=text)
        with self._recording:
            self._events.append(event)
        if self._on_event is not None:
            self._on_event(event)
