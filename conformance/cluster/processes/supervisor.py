"""Processes of a control plane as their owner sees them. They belong to a reaper, which ends them with
the owner."""

from __future__ import annotations

import contextlib
import json
import queue
import shutil
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from conformance.cluster.processes import reaper
from conformance.cluster.processes.reaper_process import REPLY_SECONDS, ReaperProcess
from conformance.model.errors import InfraError

_STOP_SECONDS = 30.0
_KILL_SECONDS = 10.0


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log, for an error message."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return "(no log)"
    return "\n".join(text.splitlines()[-lines:])


class StopStep(NamedTuple):
    """How one process is ended: a signal, then at most `grace` seconds, then SIGKILL."""

    name: str
    signal: signal.Signals
    grace: float


@dataclass(kw_only=True, eq=False)
class Process:
    """One program. `start()` after its end runs it again, and appends to the same log."""

    supervisor: Supervisor
    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    log: Path
    """Output and errors of all its starts."""
    pid: int | None = None
    returncode: int | None = None
    """Exit code once it ended; below zero, the signal that ended it."""
    starts: int = 0
    restarting: bool = False
    """In the middle of `restart`: that it does not run is then no failure."""

    def __post_init__(self) -> None:
        self._ended = threading.Event()
        self._ended.set()

    @property
    def running(self) -> bool:
        """Started, and not yet seen to end."""
        return not self._ended.is_set()

    def start(self) -> None:
        """Run the command. Raises InfraError if it is still running or cannot be started."""
        if self.running:
            raise InfraError(
                f"{self.name} is still running (pid {self.pid}); end it before a new start"
            )
        self.returncode = None
        self._ended.clear()
        try:
            self.pid = self.supervisor.run(self)
        except InfraError:
            self._ended.set()
            raise
        self.starts += 1

    def terminate(self) -> None:
        """Ask it and its group to end (SIGTERM)."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it and its group at once (SIGKILL)."""
        self._signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code once it ended. Raises TimeoutError after `timeout` seconds."""
        if not self._ended.wait(timeout):
            raise TimeoutError(f"{self.name} (pid {self.pid}) still runs after {timeout} s")
        if self.returncode is None:
            raise InfraError(f"{self.name} was never started")
        return self.returncode

    def restart(self) -> None:
        """End it at once if it runs, and start it again."""
        self.restarting = True
        try:
            self.kill()
            self._ended.wait(_KILL_SECONDS)
            self.start()
        finally:
            self.restarting = False

    def tail(self, lines: int = 15) -> str:
        """The last lines of its log."""
        return tail(self.log, lines)

    def end(self, code: int) -> None:
        """Note that it ended."""
        self.returncode = code
        self._ended.set()

    def _signal(self, number: signal.Signals) -> None:
        if self.running:
            self.supervisor.send(op="signal", name=self.name, signal=number)


class Supervisor:
    """The owner's side of one reaper. Thread-safe."""

    def __init__(self, *, prefix: Path) -> None:
        """Start the reaper, which makes `directory`, private and new, its path beginning with
        `prefix`, and removes it at the end. Raises InfraError if the reaper does not start."""
        self.processes: dict[str, Process] = {}
        self._lock = threading.Lock()
        self._spawning = threading.Lock()
        self._replies: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._closed = False
        failure = f"the reaper of the control plane did not make {prefix}..."
        self.reaper = ReaperProcess(reaper.__file__, str(prefix), failure=failure)
        self.directory = Path(self.reaper.greeting["ready"])
        self._reader = threading.Thread(target=self._read, name="supervisor", daemon=True)
        self._reader.start()

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def spawn(
        self, *, name: str, argv: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path
    ) -> Process:
        """Start a program. Raises InfraError if it cannot be executed, or the name is running."""
        known = self.processes.get(name)
        if known is not None and known.running:
            raise InfraError(f"a process named {name} is already running (pid {known.pid})")
        process = Process(
            supervisor=self, name=name, argv=tuple(argv), env=dict(env), cwd=cwd, log=log
        )
        self.processes[name] = process
        process.start()
        return process

    def stop(self, *, order: Sequence[StopStep] = ()) -> None:
        """End all processes, those of `order` first and in that order, and remove the directory."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            # If the reaper was killed, its children died with it.
            with contextlib.suppress(OSError):
                self.reaper.tell(json.dumps({"op": "stop", "order": order}))
        self.reaper.close(_STOP_SECONDS)
        self._reader.join(timeout=5)
        # The reaper has done so, unless it was killed.
        shutil.rmtree(self.directory, ignore_errors=True)
        self._mark_all_killed()

    def run(self, process: Process) -> int:
        """Have the reaper run a process; see `Process.start`. Returns its id."""
        with self._spawning:
            self._replies = queue.SimpleQueue()  # no late answer to an earlier request
            self.send(
                op="spawn", name=process.name, argv=process.argv, env=process.env,
                cwd=str(process.cwd), log=str(process.log),
            )  # fmt: skip
            try:
                reply = self._replies.get(timeout=REPLY_SECONDS)
            except queue.Empty:
                reply = {"error": f"no answer within {REPLY_SECONDS:.0f} s"}
        if (why := reply.get("error")) is not None:
            raise InfraError(f"{process.name} could not be started ({process.argv[0]}): {why}")
        return int(reply["pid"])

    def send(self, **message: Any) -> None:
        """Send a request to the reaper. Raises InfraError if that is gone."""
        with self._lock:
            if self._closed:
                raise InfraError("the control plane is stopped; its processes are gone")
            try:
                self.reaper.tell(json.dumps(message))
            except OSError as error:
                raise InfraError(f"the reaper of {self.directory} is gone: {error}") from error

    def _read(self) -> None:
        # Closed by stop(), or cut off in the middle of a line.
        with (
            contextlib.suppress(OSError, ValueError),
            self.reaper.channel.makefile("rb") as lines,
        ):
            for line in lines:
                message = json.loads(line)
                if "exited" in message:
                    self.processes[message["exited"]].end(message["code"])
                else:
                    self._replies.put(message)
        if not self._closed:
            # The reaper died: the kernel has killed its children.
            self._mark_all_killed()

    def _mark_all_killed(self) -> None:
        for process in self.processes.values():
            if process.running:
                process.end(-signal.SIGKILL)
