"""The recorder as a child process: started, waited for, looked after, ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import conformance
from conformance.history.records import Unseen
from conformance.kube import Resource
from conformance.model.errors import InfraError
from conformance.record.files import POLL_SECONDS, Ready, RecordFiles, Recording

_STOP_SECONDS = 5.0
_LOG = "recorder.log"


class RecorderProcess:
    """One recorder for one control plane. It ends with its parent, however that ends."""

    def __init__(self, process: subprocess.Popen[bytes], directory: Path) -> None:
        self.directory = directory
        self._process = process
        self._log = directory / _LOG

    @classmethod
    def start(
        cls,
        *,
        kubeconfig: Path,
        directory: Path,
        audit_log: Path | None = None,
        users: Mapping[str, str] | None = None,
    ) -> RecorderProcess:
        """Start recording into `directory`, made if missing. Raises InfraError if that fails."""
        directory.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable, "-m", "conformance.record", f"--kubeconfig={kubeconfig}",
            f"--out={directory}", f"--users={json.dumps(dict(users or {}))}",
            f"--parent={os.getpid()}", *([f"--audit-log={audit_log}"] if audit_log else ()),
        ]  # fmt: skip
        root = str(Path(conformance.__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        try:
            with (directory / _LOG).open("ab") as log:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    env={**os.environ, "PYTHONPATH": path},
                    # Ctrl-C is for the suite, which then ends the recorder in its own order.
                    start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise InfraError(f"the recorder cannot be started: {error}") from error
        return cls(process, directory)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self, within: float = 60.0) -> Ready:
        """Until every kind was listed once, `within` seconds. Raises InfraError otherwise."""
        end = time.monotonic() + within
        while (ready := Ready.read(self.directory)) is None:
            late = f"the recorder was not ready within {within:g} s; its log is {self._log}"
            self._pause(end, late)
        return ready

    def wait_recording(self, resources: Iterable[Resource], within: float = 10.0) -> None:
        """Until these kinds are recorded, or known to be unseen: no case must see the gap mark with
        which a late kind starts. Raises InfraError after `within` s."""
        missing = {str(resource) for resource in resources}
        end = time.monotonic() + within
        with contextlib.closing(RecordFiles(self.directory)) as files:
            while missing := missing - {
                sign.resource for sign in files.signs() if isinstance(sign, Recording | Unseen)
            }:
                kinds = ", ".join(sorted(missing))
                self._pause(end, f"the recorder did not record {kinds} within {within:g} s")

    def _pause(self, end: float, late: str) -> None:
        self.check()
        if time.monotonic() > end:
            raise InfraError(late)
        time.sleep(POLL_SECONDS)

    def check(self) -> None:
        """Raises InfraError, with its last words, if the recorder has ended."""
        code = self._process.poll()
        if code is not None:
            words = self._log.read_text("utf-8", "replace").strip() or "it said nothing"
            raise InfraError(f"the recorder ended with code {code}: {words.splitlines()[-1]}")

    def stop(self) -> None:
        """End it in an orderly way, with force after 5 s. May be called again."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
