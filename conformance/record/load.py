"""Measures, stretch by stretch, whether the operator can work: `LoadWatch`."""

import contextlib
import threading
import time
from collections import Counter
from pathlib import Path

from conformance.history.records import Write
from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.record.files import LoadSign
from conformance.record.meter import Measured, Meter

STRETCH_SECONDS = 0.5
"""Shorter than the pauses that an operator with an empty queue makes, longer than those between two
requests of one that limits its own rate (20 a second and fewer, in client-go)."""
_NO_WORK = ("events", "leases")
"""What operators write beside their work, at a pace of their own."""
_PING_SECONDS = 1.0
_PING = "/api/v1/namespaces/default"


class LoadWatch:
    """The load of one control plane, from the one process that sees all of it."""

    def __init__(self, directory: Path, api: Api | None = None) -> None:
        """`api` None: the API server's answers are not timed."""
        self._directory = directory
        self._meter = Meter()
        self._requests: Counter[str] = Counter()
        self._since = time.time()
        self._measured = Measured()
        self._ping = Ping(api) if api is not None else None

    def wrote(self, write: Write) -> None:
        """Take in a request of the audit log."""
        measured = self._measured
        works = write.namespace not in ("", *measured.own) and write.resource not in _NO_WORK
        if write.user in measured.users and works:
            self._requests[write.namespace] += 1

    def sign(self, at: float) -> LoadSign | None:
        """The stretch that ends now (`at`, seconds since the epoch), once it is long enough."""
        seconds = at - self._since
        if seconds < STRETCH_SECONDS:
            return None
        self._since = at
        operator, platform = self._meter.look(self._measured)
        requests, self._requests = self._requests, Counter()
        # What was noted meanwhile counts from the next stretch on, which is then seen whole.
        self._measured = Measured.read(self._directory)
        here = bool(self._measured.platform)
        return LoadSign(
            at=at, seconds=seconds, operator=operator, platform=platform,
            request=0.0 if here or self._ping is None else self._ping.seconds, requests=requests,
        )  # fmt: skip


class Ping:
    """How long the API server takes to answer a small read. A thread of its own asks: whoever reports
    must not wait for a server that does not answer."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._asked_at: float | None = None
        self._last = 0.0
        threading.Thread(target=self._run, name="ping", daemon=True).start()

    @property
    def seconds(self) -> float:
        """Of the last answer, or of the one that is awaited if that is longer."""
        asked_at = self._asked_at
        waiting = 0.0 if asked_at is None else time.monotonic() - asked_at
        return max(self._last, waiting)

    def _run(self) -> None:
        while True:
            self._asked_at = began = time.monotonic()
            with contextlib.suppress(InfraError):
                self._api.request("GET", _PING)
            self._last = time.monotonic() - began
            self._asked_at = None
            time.sleep(_PING_SECONDS)
