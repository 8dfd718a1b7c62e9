"""Processes of a control plane, seen from their owner: start, signal, wait, read the log.

The processes themselves belong to `conformance.cluster.reaper`, which ends them with the owner.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from conformance.cluster import reaper
from conformance.model.errors import InfraError

REPLY_SECONDS = 15.0
"""The reaper answers in milliseconds; this long means that it is gone or the machine hangs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopStep:
    """How one process is ended: a signal, then at most `grace` seconds, then SIGKILL."""

    name: str
    signal: signal.Signals
    grace: float


class Process:
    """One program under the reaper. Restartable: after it ended, `start()` runs the same command
    again and appends to the same log."""

    def __init__(
        self,
        supervisor: Supervisor,
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
        self.pid: int | None = None
        self.returncode: int | None = None
        self.starts = 0
        """How often it was started: an exit that nobody asked for is told apart by the owner."""
        self.restarting = False
        """In the middle of `restart`: that it does not run is then no failure."""
        self._supervisor = supervisor
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
        self.pid = self._supervisor._spawn(self)
        self.starts += 1

    def terminate(self) -> None:
        """Ask it and its group to end (SIGTERM)."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it and its group at once (SIGKILL)."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to its process group; nothing happens if it has ended."""
        if self._running:
            self._supervisor._send({"op": "signal", "name": self.name, "signal": int(number)})

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

    def _mark(self, *, running: bool, code: int | None = None) -> None:
        with self._condition:
            self._running = running
            if not running:
                self.returncode = code
            self._condition.notify_all()


class Supervisor:
    """The owner's side of one reaper. Thread-safe; use as a context manager or call `stop`."""

    def __init__(self, *, prefix: Path, on_exit: Callable[[Process], None] | None = None) -> None:
        """Start the reaper, which makes `directory`, private and new, its path beginning with
        `prefix`, and removes it at the end. `on_exit` is called from a thread of the supervisor,
        once for each end of a process. Raises InfraError if the reaper does not start."""
        self.processes: dict[str, Process] = {}
        self._on_exit = on_exit
        self._lock = threading.Lock()
        self._spawning = threading.Lock()
        self._reply: dict[str, Any] | None = None
        self._replied = threading.Condition()
        self._closed = False
        ours, theirs = socket.socketpair()
        self._channel = ours
        with theirs:
            # -I -S: neither site-packages nor the environment may slow it down or change what it
            # is.
            self._reaper = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    reaper.__file__,
                    str(theirs.fileno()),
                    str(prefix),
                    str(os.getpid()),
                ],
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
            )
        self.directory = self._wait_ready(prefix)
        self._reader = threading.Thread(target=self._read, name="supervisor", daemon=True)
        self._reader.start()

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def spawn(
        self, *, name: str, argv: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path
    ) -> Process:
        """Start a program. Raises InfraError if it cannot be executed, or the name is running."""
        known = self.processes.get(name)
        if known is not None and known.running:
            raise InfraError(f"a process named {name} is already running (pid {known.pid})")
        process = Process(self, name=name, argv=argv, env=env, cwd=cwd, log=log)
        self.processes[name] = process
        process.start()
        return process

    def stop(self, *, order: Sequence[StopStep] = (), timeout: float = 30.0) -> None:
        """End all processes, those of `order` first and in that order, and remove the directory."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            steps = [[step.name, int(step.signal), step.grace] for step in order]
            # If the reaper was killed, its children died with it.
            with contextlib.suppress(OSError):
                self._channel.sendall(json.dumps({"op": "stop", "order": steps}).encode() + b"\n")
        try:
            self._reaper.wait(timeout)
        except subprocess.TimeoutExpired:
            self._reaper.kill()
            self._reaper.wait()
        self._channel.close()
        self._reader.join(timeout=5)
        # The reaper has done so, unless it was killed.
        shutil.rmtree(self.directory, ignore_errors=True)
        for process in self.processes.values():
            if process.running:
                process._mark(running=False, code=-int(signal.SIGKILL))

    def _wait_ready(self, prefix: Path) -> Path:
        self._channel.settimeout(REPLY_SECONDS)
        try:
            # One short line, sent at once: it does not come in pieces.
            directory = Path(json.loads(self._channel.recv(1 << 16))["ready"])
        except BaseException as error:
            self._channel.close()
            if not isinstance(error, (OSError, ValueError)):
                raise
            raise InfraError(
                f"the reaper of the control plane did not make {prefix}... within "
                f"{REPLY_SECONDS:.0f} s"
            ) from error
        self._channel.settimeout(None)
        return directory

    def _spawn(self, process: Process) -> int:
        with self._spawning:
            self._reply = None
            process._mark(running=True)
            self._send(
                {
                    "op": "spawn",
                    "name": process.name,
                    "argv": process.argv,
                    "env": process.env,
                    "cwd": str(process.cwd),
                    "log": str(process.log),
                }
            )
            with self._replied:
                answered = self._replied.wait_for(lambda: self._reply is not None, REPLY_SECONDS)
            reply = self._reply
            if not answered or reply is None or "failed" in reply:
                process._mark(running=False)
                reason = reply["error"] if reply else f"no answer within {REPLY_SECONDS:.0f} s"
                raise InfraError(
                    f"{process.name} could not be started ({process.argv[0]}): {reason}"
                )
            return int(reply["pid"])

    def _send(self, message: Mapping[str, Any]) -> None:
        with self._lock:
            if self._closed:
                raise InfraError("the control plane is stopped; its processes are gone")
            try:
                self._channel.sendall(json.dumps(message).encode() + b"\n")
            except OSError as error:
                raise InfraError(f"the reaper of {self.directory} is gone: {error}") from error

    def _read(self) -> None:
        try:
            with self._channel.makefile("rb") as lines:
                for line in lines:
                    self._handle(json.loads(line))
        except (OSError, ValueError):
            pass  # closed by stop(), or cut off in the middle of a line
        if not self._closed:
            # The reaper died: the kernel has killed its children.
            for process in self.processes.values():
                if process.running:
                    process._mark(running=False, code=-int(signal.SIGKILL))

    def _handle(self, message: dict[str, Any]) -> None:
        if "exited" in message:
            process = self.processes[message["exited"]]
            process._mark(running=False, code=int(message["code"]))
            if self._on_exit is not None:
                self._on_exit(process)
            return
        with self._replied:
            self._reply = message
            self._replied.notify_all()


def wait_until(
    probe: Callable[[], bool],
    *,
    within: float,
    every: float = 0.02,
    what: str,
    alive: Sequence[Process] = (),
) -> None:
    """Poll until `probe` is true. Raises InfraError after `within` seconds, or at once if one of
    the processes in `alive` ended, with the end of its log."""
    deadline = time.monotonic() + within
    while not probe():
        for process in alive:
            if not process.running:
                raise InfraError(
                    f"{process.name} ended with code {process.returncode} while waiting for "
                    f"{what}; the end of its log:\n{process.tail()}"
                )
        if time.monotonic() > deadline:
            logs = "\n".join(f"{process.name}:\n{process.tail(5)}" for process in alive)
            raise InfraError(f"waited {within:.0f} s for {what}, without success\n{logs}")
        time.sleep(every)
