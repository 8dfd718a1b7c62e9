"""Processes of a control plane, seen from their owner: `Supervisor`.

The processes themselves belong to `reaper`, which ends them with the owner."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cluster.processes import reaper
from conformance.cluster.processes.process import Process
from conformance.cluster.processes.reaper_process import REPLY_SECONDS, ReaperProcess
from conformance.model.errors import InfraError


@dataclass(frozen=True, slots=True, kw_only=True)
class StopStep:
    """How one process is ended: a signal, then at most `grace` seconds, then SIGKILL."""

    name: str
    signal: signal.Signals
    grace: float


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
                self.reaper.tell(json.dumps({"op": "stop", "order": steps}))
        self.reaper.close(timeout)
        self._reader.join(timeout=5)
        # The reaper has done so, unless it was killed.
        shutil.rmtree(self.directory, ignore_errors=True)
        self._mark_all_killed()

    def run(self, process: Process) -> int:
        """Have the reaper run a process; see `Process.start`."""
        with self._spawning:
            self._reply = None
            process.mark(running=True)
            self.send(
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
                process.mark(running=False)
                reason = reply["error"] if reply else f"no answer within {REPLY_SECONDS:.0f} s"
                raise InfraError(
                    f"{process.name} could not be started ({process.argv[0]}): {reason}"
                )
            return int(reply["pid"])

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a request to the reaper. Raises InfraError if that is gone."""
        with self._lock:
            if self._closed:
                raise InfraError("the control plane is stopped; its processes are gone")
            try:
                self.reaper.tell(json.dumps(message))
            except OSError as error:
                raise InfraError(f"the reaper of {self.directory} is gone: {error}") from error

    def _read(self) -> None:
        try:
            with self.reaper.channel.makefile("rb") as lines:
                for line in lines:
                    self._handle(json.loads(line))
        except (OSError, ValueError):
            pass  # closed by stop(), or cut off in the middle of a line
        if not self._closed:
            # The reaper died: the kernel has killed its children.
            self._mark_all_killed()

    def _handle(self, message: dict[str, Any]) -> None:
        if "exited" in message:
            process = self.processes[message["exited"]]
            process.mark(running=False, code=int(message["code"]))
            if self._on_exit is not None:
                self._on_exit(process)
            return
        with self._replied:
            self._reply = message
            self._replied.notify_all()

    def _mark_all_killed(self) -> None:
        for process in self.processes.values():
            if process.running:
                process.mark(running=False, code=-int(signal.SIGKILL))
