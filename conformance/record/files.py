"""The recorder's files: JSON lines, appended as things happen and read while they are written.

    DIR/ready                    written once every kind was listed: start of the record's validity
    DIR/live/<namespace>.jsonl   events and writes of one namespace
    DIR/live/_cluster.jsonl      those of cluster-scoped objects
    DIR/live/_recorder.jsonl     signs: heartbeats, gaps, kinds that are recorded or may not be

One file a namespace, so that a reader parses its own case and nothing else: eight readers of one
common file would do the same work eight times.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import BaseModel

from conformance.history.lines import LineFormat
from conformance.history.records import Gap, Load, Unseen
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError

CLUSTER = "_cluster"
"""No namespace can be called this: names are DNS labels."""
RECORDER = "_recorder"
HEARTBEAT_SECONDS = 0.25
"""Between two heartbeats: a dead recorder is noticed soon, and waiting for one costs little."""
POLL_SECONDS = 0.02
"""Between two looks at what the recorder writes."""


def live_file(directory: Path, namespace: str) -> Path:
    """Where the records of a namespace go; an empty namespace means cluster-scoped."""
    return directory / "live" / f"{namespace or CLUSTER}.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The recorder lived at `at`, had read the audit log up to there, and had seen `revision`."""

    record: Literal["heartbeat"] = "heartbeat"
    at: float
    revision: int
    down: tuple[str, ...] = ()
    """Kinds whose watch was not open at that time."""
    stopped: bool = False
    """The last one: the recorder ended in an orderly way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A kind was listed and is recorded from now on."""

    record: Literal["kind"] = "kind"
    at: float
    resource: str
    """As in `leaderworkersets.leaderworkerset.x-k8s.io`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSign:
    """A stretch of time as `Load` has it, for all namespaces at once."""

    record: Literal["load"] = "load"
    at: float
    seconds: float
    operator: float
    platform: float
    request: float
    requests: Mapping[str, int]
    """Namespace → mutating requests of the operator that were answered in the stretch."""
    storms: tuple[str, ...] = ()
    """Namespaces that it wrote to without coming to an end: nothing that others have to wait for."""

    def seen_from(self, namespace: str) -> Load:
        """The stretch as it was for one namespace. Where the operator spins, nothing takes its turn but
        itself."""
        here = self.requests.get(namespace, 0)
        if namespace in self.storms:
            return Load(at=self.at, seconds=self.seconds, here=here)
        work = {name: count for name, count in self.requests.items() if name not in self.storms}
        work.pop(namespace, None)
        return Load(
            at=self.at, seconds=self.seconds, operator=self.operator, platform=self.platform,
            request=self.request, here=here, elsewhere=sum(work.values()),
        )  # fmt: skip


Sign = Heartbeat | Recording | Gap | Unseen | LoadSign
SIGN_LINES: LineFormat[Sign] = LineFormat(Sign)
"""What the recorder writes about itself."""


class Ready(BaseModel, frozen=True):
    """The start of validity: everything after `revision` is recorded, except within gap marks."""

    revision: int
    """The highest revision of the initial lists."""
    at: float
    kinds: tuple[str, ...]
    audited: bool
    users: dict[str, str] = {}
    """User name in the audit log → actor, as given to the recorder."""
    unseen: dict[str, str] = {}
    """Kind as in `kinds` → why it may not be seen."""

    @staticmethod
    def file(directory: Path) -> Path:
        """Where the marker is, once there is one."""
        return directory / "ready"

    def write(self, directory: Path) -> None:
        """Atomically: a reader sees it whole or not at all."""
        temporary = directory / ".ready"
        temporary.write_text(self.model_dump_json(), encoding="utf-8")
        temporary.replace(self.file(directory))

    @classmethod
    def read(cls, directory: Path) -> Ready | None:
        """None while the recorder still lists. Raises InfraError if the marker is not readable."""
        path = cls.file(directory)
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise InfraError(f"the recorder's marker {path} cannot be read: {error}") from error


class LineReader:
    """Reads a file that may appear later. One that was rotated (the API server's audit log, at 100 MB)
    is read to its end before its successor."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._rest = b""

    def read(self) -> list[bytes]:
        """Whole lines since the last call. Raises InfraError if the file cannot be read."""
        try:
            data = self._file.read() if self._file is not None else b""
            if not data and not self._is_current():
                self.close()
                self._file = self._path.open("rb", buffering=0)
                data = self._file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InfraError(f"{self._path} cannot be read: {error}") from error
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line for line in lines if line.strip()]

    def _is_current(self) -> bool:
        return self._file is not None and os.path.samestat(
            self._path.stat(), os.fstat(self._file.fileno())
        )

    def close(self) -> None:
        """Close the file; reading again starts over."""
        if self._file is not None:
            self._file.close()
        self._file, self._rest = None, b""


class RecordFiles:
    """Reads the files of a record; each line comes once. `lag` is how many seconds the recorder may be
    behind. Not thread-safe. Methods raise InfraError if a file cannot be read."""

    def __init__(self, directory: Path, *, lag: float = Bounds().recorder_lag) -> None:
        self._directory = directory
        self._lag = lag
        self._readers: dict[str, LineReader] = {}
        self.heartbeat: Heartbeat | None = None
        """The last one that `signs` came upon."""

    def poll(self) -> object:
        """Take in what was written since the last call, the signs at least."""
        return self.signs()

    def lines(self, name: str) -> list[bytes]:
        """New lines of a namespace, or of CLUSTER."""
        if name not in self._readers:
            self._readers[name] = LineReader(live_file(self._directory, name))
        return self._readers[name].read()

    def signs(self) -> list[Sign]:
        """What the recorder has written about itself since the last call."""
        signs = [SIGN_LINES.decode(line) for line in self.lines(RECORDER)]
        for sign in signs:
            if isinstance(sign, Heartbeat):
                self.heartbeat = sign
        return signs

    def namespaces(self) -> list[str]:
        """The namespaces of which there is a file."""
        files = live_file(self._directory, CLUSTER).parent.glob("*.jsonl")
        return sorted({path.stem for path in files} - {CLUSTER, RECORDER})

    def catch_up(self, until: float | None = None, *, within: float | None = None) -> None:
        """Poll until the audit log is known up to `until` (seconds since the epoch), by default now.
        Raises InfraError if that takes longer than `within` seconds, by default the recorder's lag."""
        until = time.time() if until is None else until
        within = self._lag if within is None else within
        end = time.monotonic() + within
        self.poll()
        while self.heartbeat is None or self.heartbeat.at < until:
            if time.monotonic() > end:
                raise InfraError(
                    f"the recorder is more than {within:g} s behind; it is dead, or the CPU is starved"
                )
            time.sleep(POLL_SECONDS)
            self.poll()

    def forget(self, name: str) -> None:
        """Close the file of a namespace that is no longer read."""
        if name in self._readers:
            self._readers.pop(name).close()

    def close(self) -> None:
        """Close all files."""
        for name in list(self._readers):
            self.forget(name)
