"""One program under a reaper: start, signal, wait, read the log."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from conformance.model.errors import InfraError


class Runner(Protocol):
    """Who starts a process and signals it."""

    def run(self, process: Process) -> int:
        """Run its command; returns the process id. Raises InfraError."""

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a request to the reaper. Raises InfraError if it is gone."""


class Process:
    """One program. Restartable: after it ended, `start()` runs the same command again and appends to
    the same log."""

    def __init__(
        self,
        runner: Runner,
        *,
        name: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
    ) -> None:
        self.name = name
        self.argv = tuple(argv)
        self.env = dict(env)
        self.cwd = cwd
        self.log = log
        """Output and errors of all its starts."""
        self.pid: int | None = None
        self.returncode: int | None = None
        """Exit code once it ended; below zero, the signal that ended it."""
        self.starts = 0
        """How often it was started: an exit that nobody asked for is told apart by the owner."""
        self.restarting = False
        """In the middle of `restart`: that it does not run is then no failure."""
        self._runner = runner
        self._running = False
        self._condition = threading.Condition()

    @property
    def running(self) -> bool:
        """Started, and not yet seen to end."""
        return self._running

    def start(self) -> None:
        """Run the command. Raises InfraError if it is still running or cannot be started."""
        if self._running:
            raise InfraError(
                f"{self.name} is still running (pid {self.pid}); end it before a new start"
            )
        self.returncode = None
        self.pid = self._runner.run(self)
        self.starts += 1

    def terminate(self) -> None:
        """Ask it and its group to end (SIGTERM)."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it and its group at once (SIGKILL)."""
        self._signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code (below zero: the signal) once it ended; TimeoutError after `timeout`
        seconds."""
        with self._condition:
            if not self._condition.wait_for(lambda: not self._running, timeout):
                raise TimeoutError(f"{self.name} (pid {self.pid}) still runs after {timeout} s")
        if self.returncode is None:
            raise InfraError(f"{self.name} was never started")
        return self.returncode

    def restart(self, *, timeout: float = 10.0) -> None:
        """End it at once if it runs, and start it again."""
        self.restarting = True
        try:
            self.kill()
            if self._running:
                self.wait(timeout)
            self.start()
        finally:
            self.restarting = False

    def tail(self, lines: int = 15) -> str:
        """The last lines of its log, for an error message."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return "(no log)"
        return "\n".join(text.splitlines()[-lines:])

    def mark(self, *, running: bool, code: int | None = None) -> None:
        """Note that it runs, or that it ended with a code."""
        with self._condition:
            self._running = running
            if not running:
                self.returncode = code
            self._condition.notify_all()

    def _signal(self, number: signal.Signals) -> None:
        if self._running:
            self._runner.send({"op": "signal", "name": self.name, "signal": int(number)})
