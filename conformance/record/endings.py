"""How cases ended, noted beside the record of their cluster: what the end of a run is judged by.

DIR/ended/<namespace>.jsonl    empty while a case runs, and for good if it did not conform; else its
                               `Soak` record, and everything in its namespace as it then stood
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from conformance.history.history import History
from conformance.history.records import (
    JSON_LINES,
    CheckpointEnd,
    Event,
    EventType,
    Record,
    Soak,
)
from conformance.model.errors import InfraError

_SUFFIX = ".jsonl"


def _note(directory: Path, namespace: str) -> Path:
    return directory / "ended" / f"{namespace}{_SUFFIX}"


def case_begins(directory: Path, namespace: str) -> None:
    """A case begins in that namespace. Raises OSError."""
    path = _note(directory, namespace)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def case_conforms(directory: Path, history: History, *, others: Iterable[str]) -> None:
    """A case has ended and conforms; `others` are uids of what is none of the operator's business.

    A case that did something after its last checkpoint, or whose last checkpoint was not held, is
    noted without objects. Raises OSError.
    """
    records: list[Record] = []
    checkpoint = history.checkpoints[-1] if history.checkpoints else None
    later = checkpoint is not None and any(
        step.code and step.sent_at > checkpoint.at for step in history.steps
    )
    if checkpoint is not None and checkpoint.end is CheckpointEnd.HELD and not later:
        records.append(
            Soak(
                case=history.header.case, namespace=history.namespace, at=checkpoint.at,
                revision=checkpoint.revision, graphs=checkpoint.graphs,
                components=checkpoint.components, blocked=checkpoint.blocked,
                others=tuple(sorted(others)),
            )
        )  # fmt: skip
        records += [
            Event(type=EventType.LISTED, revision=obj.revision, at=checkpoint.at, object=obj.raw)
            for obj in history.at_checkpoint(checkpoint)
            if obj.namespace in ("", history.namespace)
        ]
    path = _note(directory, history.namespace)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(b"".join(map(JSON_LINES.encode, records)) or b"\n")
    part.replace(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endings:
    """How the cases of a cluster ended."""

    failed: frozenset[str]
    """Namespaces of cases that did not conform, or never ended."""
    records: tuple[Record, ...]
    """A `Soak` record for each case that left something at rest, and what stood there."""

    @property
    def soaks(self) -> list[Soak]:
        """The cases that left something at rest."""
        return [record for record in self.records if isinstance(record, Soak)]


def read_endings(directory: Path) -> Endings:
    """All notes of a cluster. Raises InfraError if one cannot be read."""
    failed: set[str] = set()
    records: list[Record] = []
    for path in sorted((directory / "ended").glob(f"*{_SUFFIX}")):
        try:
            lines = path.read_bytes().splitlines()
            records += [JSON_LINES.decode(line) for line in lines if line]
        except (OSError, ValueError) as error:
            raise InfraError(f"the note {path} of an ended case cannot be read: {error}") from error
        if not lines:
            failed.add(path.stem)
    return Endings(failed=frozenset(failed), records=tuple(records))
