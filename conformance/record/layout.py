"""The recorder's files: JSON lines, appended as things happen and read while they are written.

    DIR/ready                    written once every kind was listed: start of the record's validity
    DIR/live/<namespace>.jsonl   events and writes of one namespace
    DIR/live/_cluster.jsonl      those of cluster-scoped objects
    DIR/live/_recorder.jsonl     signs: heartbeats, gaps, kinds that are recorded or may not be
    DIR/recorder.log             the recorder's own output

One file a namespace, so that a reader parses its own case and nothing else: eight readers of one
common file would do the same work eight times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from conformance.history.lines import LineFormat
from conformance.history.records import Gap, Unseen
from conformance.model.errors import InfraError

CLUSTER = "_cluster"
"""No namespace can be called this: names are DNS labels."""
RECORDER = "_recorder"
HEARTBEAT_SECONDS = 0.25
"""Between two heartbeats: a dead recorder is noticed soon, and waiting for one costs little."""


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


Sign = Heartbeat | Recording | Gap | Unseen
SIGN_LINES: LineFormat[Sign] = LineFormat(Sign)
"""What the recorder writes about itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The start of validity: everything after `revision` is recorded, except within gap marks."""

    revision: int
    """The highest revision of the initial lists."""
    at: float
    kinds: tuple[str, ...]
    audited: bool
    users: Mapping[str, str] = field(default_factory=dict)
    """User name in the audit log → actor, as given to the recorder."""
    unseen: Mapping[str, str] = field(default_factory=dict)
    """Kind as in `kinds` → why it may not be seen."""

    @staticmethod
    def file(directory: Path) -> Path:
        """Where the marker is, once there is one."""
        return directory / "ready"

    def write(self, directory: Path) -> None:
        """Atomically: a reader sees it whole or not at all."""
        temporary = directory / ".ready"
        temporary.write_bytes(_READY.dump_json(self))
        temporary.replace(self.file(directory))

    @classmethod
    def read(cls, directory: Path) -> Ready | None:
        """None while the recorder still lists. Raises InfraError if the marker is not readable."""
        path = cls.file(directory)
        try:
            return _READY.validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise InfraError(f"the recorder's marker {path} cannot be read: {error}") from error


_READY = TypeAdapter(Ready)
