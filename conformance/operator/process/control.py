"""The operator as a process: stop, kill, start, and start again after a crash."""

import contextlib
import threading
import time

import urllib3

from conformance.cluster.processes.supervisor import Process
from conformance.history.records import OperatorEventKind
from conformance.model.errors import InfraError
from conformance.operator.installed import OperatorControl, OperatorEvents, StartError

STOP_SECONDS = 10.0
"""A program may need this long to end after SIGTERM; then it is killed."""

_LOG_POLL = 0.5
"""Seconds between two looks at the log for crashes that the program survives."""

_RESTARTS = 20
"""An operator that crashes in one case must not take the others with it; one that dies at every start
must not be started for ever."""


class ProcessControl(OperatorControl):
    """One operator's process, from its first start on."""

    def __init__(
        self,
        process: Process,
        *,
        name: str,
        ready_url: str,
        ready_within: float,
        events: OperatorEvents,
    ) -> None:
        """`process` is already started. `ready_within`: seconds from a start to readiness. An empty
        `ready_url`: it is ready when it runs."""
        self.process = process
        self._name = name
        self._ready_url = ready_url
        self._ready_within = ready_within
        self._events = events
        # A case may kill it while it is being started again after a crash.
        self._lock = threading.RLock()
        self._restarts = 0
        self._log_read = 0
        self._pool = urllib3.PoolManager(cert_reqs="CERT_NONE")
        self._watch()

    @property
    def pid(self) -> int | None:
        return self.process.pid

    def alive(self) -> bool:
        """True if it runs just now."""
        return self.process.running

    def start(self) -> None:
        """Run it again and wait until it is ready. Raises StartError, and InfraError if it runs."""
        with self._lock:
            if self.alive():
                raise InfraError(f"the operator {self._name} already runs (pid {self.process.pid})")
            self._spawn()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Poll the ready URL. Raises StartError, with the end of the log, if it ends or time is up."""
        began = time.monotonic()
        while not self._answers():
            seconds = time.monotonic() - began
            self.require_running(f"{seconds:.1f} s after its start, before it was ready")
            if seconds > self._ready_within:
                raise StartError(
                    f"the operator {self._name} was not ready {seconds:.0f} s after its start: "
                    f"{self._ready_url} (`install.ready`) did not answer 200; {self._last_words()}"
                )
            time.sleep(0.05)
        self._events.add(OperatorEventKind.READY)

    def require_running(self, when: str) -> None:
        """Raise StartError, with the end of the log, if it does not run."""
        if not self.alive():
            self._watcher.join(STOP_SECONDS)
            raise StartError(
                f"the operator {self._name} ended with code {self.process.returncode} {when}; "
                f"{self._last_words()}"
            )

    def supervise(self) -> None:
        """From now on start it again after an exit that nobody asked for, as a kubelet would."""
        self._restarts = _RESTARTS

    def close(self) -> None:
        """End it for good."""
        with self._lock:
            self._restarts = 0
            self.stop()

    def _end(self, how: OperatorEventKind) -> None:
        """Kills it, too, if it has not ended in `STOP_SECONDS`."""
        with self._lock:
            if self.alive():
                self._planned = how
                kills = how is OperatorEventKind.KILLED
                (self.process.kill if kills else self.process.terminate)()
                try:
                    self.process.wait(STOP_SECONDS)
                except TimeoutError:
                    self.process.kill()
                    self.process.wait(STOP_SECONDS)
            self._watcher.join(STOP_SECONDS)

    def _spawn(self) -> None:
        self._watcher.join(STOP_SECONDS)
        self.process.start()
        self._watch()

    def _watch(self) -> None:
        self._planned = OperatorEventKind.EXITED
        self._events.add(OperatorEventKind.STARTED, f"pid {self.process.pid}")
        self._watcher = threading.Thread(
            target=self._wait_for_end, name=f"watch {self._name}", daemon=True
        )
        self._watcher.start()

    def _wait_for_end(self) -> None:
        code: int | None = None
        while code is None:
            with contextlib.suppress(TimeoutError):
                code = self.process.wait(_LOG_POLL)
            self._read_log()
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        kind = self._planned
        if kind is OperatorEventKind.EXITED:
            last = self.process.tail(1).strip()
            self._events.add(kind, f"{ended}; its last line: {last}" if last else ended)
            threading.Thread(target=self._start_again, daemon=True).start()
        else:
            self._events.add(kind, ended)

    def _start_again(self) -> None:
        # If it is not ready again, its next exit is on record, too.
        with contextlib.suppress(InfraError):
            with self._lock:
                if self._restarts == 0 or self.alive():
                    return
                self._restarts -= 1
                self._spawn()
            self.wait_ready()

    def _read_log(self) -> None:
        try:
            with self.process.log.open("rb") as log:
                log.seek(self._log_read)
                new = log.read()
        except FileNotFoundError:
            return
        lines = new[: new.rfind(b"\n") + 1]
        self._log_read += len(lines)
        for line in lines.decode("utf-8", "replace").splitlines():
            self._events.read(line)

    def _answers(self) -> bool:
        if not self._ready_url:
            return self.alive()
        try:
            answer = self._pool.request("GET", self._ready_url, timeout=2.0, retries=False)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == 200

    def _last_words(self) -> str:
        words = self.process.tail().strip()
        if not words:
            return f"it wrote nothing to its log, {self.process.log}"
        return f"its log, {self.process.log}, ends with:\n{words}"
