"""The logs of all pods of an operator, of all their restarts, as one file that grows.

Each line is written as the container wrote it: the kubelet's time stamps only serve to go on where
a broken connection ended, and are taken off again.
"""

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import urllib3

from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.operator.resources import PODS

SILENCE_SECONDS = 300.0
"""An idle operator says nothing; after this long the connection is made anew."""
_AGAIN_SECONDS = 0.3
_REFUSED_SECONDS = 3.0
_JOIN_SECONDS = 2.0
_STAMP = re.compile(r"(?P<seconds>[-\d]+T[:\d]+)(?:\.(?P<fraction>\d+))?(?P<zone>Z|[-+]\d\d:\d\d)")


class PodLogs:
    """Follows pods by name; `path` takes their lines. `on_line` is called from any thread."""

    def __init__(
        self,
        kubeconfig: Path,
        *,
        namespace: str,
        container: str,
        path: Path,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        self.path = path
        self.problem = ""
        """Why a log could not be read, in the API server's words; empty if all went well."""
        self.closing = threading.Event()
        self._api = Api.from_kubeconfig(kubeconfig, connections=4)
        self._namespace = namespace
        self._container = container
        self._on_line = on_line
        self._followers: dict[str, _Follower] = {}
        self._writing = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def follow(self, uid: str, pod: str) -> None:
        """Follow a pod from its first line on; at once, and once."""
        if uid not in self._followers and not self.closing.is_set():
            path = PODS.path(self._namespace, pod, "log")
            self._followers[uid] = follower = _Follower(self, path)
            follower.start()

    def last_line(self) -> str:
        """The last whole line so far."""
        with self.path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - 4000))
            lines = file.read().decode("utf-8", "replace").split("\n")[:-1]
        return lines[-1].strip() if lines else ""

    def close(self, *, drain: bool = False) -> None:
        """Stop following. `drain`: its pods are gone, so read their logs to the end first."""
        if drain:
            self._join()
        self.closing.set()
        for follower in self._followers.values():
            follower.interrupt()
        self._join()
        self._api.close()

    def _join(self) -> None:
        deadline = time.monotonic() + _JOIN_SECONDS
        for follower in self._followers.values():
            follower.join(max(0.0, deadline - time.monotonic()))

    def open(self, path: str, **params: str) -> urllib3.BaseHTTPResponse:
        """One request for a log."""
        query = {**params, "container": self._container, "timestamps": "true"}
        return self._api.stream(path, params=query, silence=SILENCE_SECONDS)

    def write(self, line: bytes) -> None:
        """Take one line."""
        with self._writing, self.path.open("ab") as file:
            file.write(line + b"\n")
        if self._on_line is not None:
            self._on_line(line.decode("utf-8", "replace"))


class _Follower(threading.Thread):
    """One pod, until it is gone: the run before, whose end may have been missed, then the present
    one for as long as it lasts; and again."""

    def __init__(self, logs: PodLogs, path: str) -> None:
        super().__init__(name=f"log {path.split('/')[-2]}", daemon=True)
        self._logs = logs
        self._path = path
        self._last = ("", "")
        self._since: dict[str, str] = {}
        self._response: urllib3.BaseHTTPResponse | None = None

    def run(self) -> None:
        while True:
            pause = _AGAIN_SECONDS
            try:
                if self._read(previous="true") == 404 or self._read(follow="true") == 404:
                    return
            except (InfraError, urllib3.exceptions.HTTPError, OSError) as error:
                pause = _REFUSED_SECONDS
                self._logs.problem = str(error)
            if self._logs.closing.wait(pause):
                return

    def interrupt(self) -> None:
        """End a read that waits."""
        if (response := self._response) is not None:
            try:
                response.shutdown()
            except (AttributeError, OSError, ValueError, RuntimeError):
                response.close()

    def _read(self, **params: str) -> int:
        """Write what is new. The answer's code; 400 stands for "there is none (yet)"."""
        with contextlib.closing(self._logs.open(self._path, **params, **self._since)) as response:
            self._response = response
            if response.status not in (200, 400, 404):
                said = response.data.decode("utf-8", "replace")[:300]
                raise InfraError(f"{self._path} was answered {response.status}: {said}")
            for line in _lines(response) if response.status == 200 else ():
                stamp, _, text = line.partition(b" ")
                seconds, fraction, zone = _parts(stamp.decode("ascii", "replace"))
                if (seconds, fraction) > self._last:
                    self._last = seconds, fraction
                    self._since = {"sinceTime": seconds + zone}
                    self._logs.write(text)
        # Its connection may serve another pod from now on.
        self._response = None
        return response.status


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """Lines as they come; the last one, too, if it has no end."""
    rest = b""
    # A pod's log has no Content-Length: read1 gives what is there, without waiting for more.
    for chunk in iter(lambda: response.read1(65536), b""):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    if rest:
        yield rest


def _parts(stamp: str) -> tuple[str, str, str]:
    """A time in RFC 3339 as whole seconds, fraction and zone. The fraction sorts: it gets the zeros
    back that Go leaves out."""
    match = _STAMP.fullmatch(stamp)
    if match is None:
        raise InfraError(f"a log line begins with {stamp[:40]!r}, expected a time in RFC 3339")
    return match["seconds"], (match["fraction"] or "").ljust(9, "0"), match["zone"]
