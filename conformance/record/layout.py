"""The recorder's files: one JSON line a record, appended as it happens, read while it is written.

    DIR/ready                 written once every kind was listed: start of the history's validity
    DIR/live/<namespace>.jsonl   events and writes of one namespace
    DIR/live/_cluster.jsonl      those of cluster-scoped objects
    DIR/live/_recorder.jsonl     gap marks, kinds that may not be seen, and a heartbeat that shows
                                 the recorder alive
    DIR/recorder.log          what the recorder itself had to say

One file a namespace, so that a reader parses its own case and nothing else: eight readers of one
common file would do the same work eight times.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from conformance.model.errors import InfraError

CLUSTER = "_cluster"
"""No namespace can be called this: names are DNS labels."""
RECORDER = "_recorder"
HEARTBEAT_SECONDS = 0.25
"""Between two heartbeats: a dead recorder is noticed soon, and waiting for one costs little."""


def live_file(directory: Path, namespace: str) -> Path:
    """Where the records of a namespace go; an empty namespace means cluster-scoped."""
    return directory / "live" / f"{namespace or CLUSTER}.jsonl"


def log_file(directory: Path) -> Path:
    """The recorder's own output."""
    return directory / "recorder.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The recorder lived at `at`, had read the audit log up to there, and had seen `revision`."""

    at: float
    revision: int
    down: tuple[str, ...] = ()
    """Kinds whose watch was not open at that time."""
    stopped: bool = False
    """The last one: the recorder ended in an orderly way."""

    def to_line(self) -> bytes:
        """As one line of the recorder's file."""
        data = {
            "record": "heartbeat",
            "at": self.at,
            "revision": self.revision,
            "down": self.down,
            "stopped": self.stopped,
        }
        return json.dumps(data, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Heartbeat:
        """From a parsed line."""
        return cls(
            at=float(data["at"]),
            revision=int(data["revision"]),
            down=tuple(data["down"]),
            stopped=bool(data["stopped"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The start of validity: everything after `revision` is recorded, except within gap marks."""

    revision: int
    """The highest revision of the initial lists."""
    at: float
    kinds: tuple[str, ...]
    audited: bool
    users: Mapping[str, str] = field(default_factory=dict)
    """User name in the audit log → layer, as given to the recorder."""
    unseen: Mapping[str, str] = field(default_factory=dict)
    """Kind as in `kinds` → why it may not be seen."""

    def write(self, directory: Path) -> None:
        """Atomically: a reader sees it whole or not at all."""
        data = {name: getattr(self, name) for name in self.__slots__}
        temporary = directory / ".ready"
        temporary.write_text(json.dumps(data), encoding="utf-8")
        temporary.replace(directory / "ready")

    @classmethod
    def read(cls, directory: Path) -> Ready | None:
        """None while the recorder still lists. Raises InfraError if the marker is not readable."""
        path = directory / "ready"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(**{**data, "kinds": tuple(data["kinds"])})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InfraError(f"the recorder's marker {path} cannot be read: {error}") from error


class LineReader:
    """Reads a growing file of lines: each call gives the whole lines that came since the last.

    The file may appear later. One that was rotated (the API server's audit log, at 100 MB) is read
    to its end before its successor.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._rest = b""

    def read(self) -> list[bytes]:
        """New whole lines, without their ends. Raises InfraError if the file cannot be read."""
        try:
            if self._file is None:
                self._file = self.path.open("rb", buffering=0)
            data = self._file.read()
            if not data and self._rotated():
                self._file.close()
                self._file = self.path.open("rb", buffering=0)
                data = self._file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InfraError(f"{self.path} cannot be read: {error}") from error
        if not data:
            return []
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line for line in lines if line.strip()]

    def _rotated(self) -> bool:
        assert self._file is not None
        try:
            return os.stat(self.path).st_ino != os.fstat(self._file.fileno()).st_ino
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Close the file; reading again starts over."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._rest = b""
