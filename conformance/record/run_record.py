"""What the end of a run is judged by: how its cases ended, and the live record of the whole cluster.

DIR/ended/<namespace>.jsonl    empty while a case runs, and for good if it did not conform; else its
                               `Soak` record, and everything in its namespace as it then stood
"""

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
    Gap,
    Record,
    Soak,
    Unseen,
    Write,
)
from conformance.model.errors import InfraError
from conformance.record.elsewhere import owned_namespace
from conformance.record.files import CLUSTER, RecordFiles

# A request may be answered this long (s) before or after the event that shows what it did is seen.
_NEAR = 5.0
_ENDED = "ended"


def _note(directory: Path, namespace: str) -> Path:
    return directory / _ENDED / f"{namespace}.jsonl"


def case_begins(directory: Path, namespace: str) -> None:
    """A case begins in that namespace. Raises OSError."""
    path = _note(directory, namespace)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def case_conforms(directory: Path, history: History, *, others: Iterable[str]) -> None:
    """A case has ended and conforms; `others` are uids of what is none of the operator's business.
    One that did something after its last checkpoint, or whose last checkpoint was not held, is noted
    without objects. Raises OSError."""
    records: list[Record] = []
    checkpoint = history.checkpoints[-1] if history.checkpoints else None
    if (
        checkpoint is not None
        and checkpoint.end is CheckpointEnd.HELD
        and not any(step.code and step.sent_at > checkpoint.at for step in history.steps)
    ):
        records = [
            Soak(
                case=history.header.case, namespace=history.namespace, at=checkpoint.at,
                revision=checkpoint.revision, graphs=checkpoint.graphs,
                components=checkpoint.components, blocked=checkpoint.blocked,
                others=tuple(sorted(others)),
            ),
            *(
                Event(type=EventType.LISTED, revision=obj.revision, at=checkpoint.at, object=obj.raw)
                for obj in history.at_checkpoint(checkpoint)
                if obj.namespace in ("", history.namespace)
            ),
        ]  # fmt: skip
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
        return [record for record in self.records if isinstance(record, Soak)]


def read_endings(directory: Path) -> Endings:
    """All notes of a cluster. Raises InfraError if one cannot be read."""
    failed: set[str] = set()
    records: list[Record] = []
    for path in sorted((directory / _ENDED).glob("*.jsonl")):
        try:
            lines = path.read_bytes().splitlines()
            records += [JSON_LINES.decode(line) for line in lines if line]
        except (OSError, ValueError) as error:
            raise InfraError(f"the note {path} of an ended case cannot be read: {error}") from error
        if not lines:
            failed.add(path.stem)
    return Endings(failed=frozenset(failed), records=tuple(records))


class RunRecord(RecordFiles):
    """Reads every file of a cluster's record as it grows, but those of cases that did not conform. Of
    the suite's own namespaces, a hundred megabytes in a long run, only what is still there is kept.
    Not thread-safe. Raises InfraError from any method if a file cannot be read."""

    def __init__(self, directory: Path, endings: Endings) -> None:
        super().__init__(directory)
        self._endings = endings
        self._owned: set[str] = set()
        # Of the cluster and of namespaces that the suite did not make.
        self._elsewhere: list[Record] = []
        self._marks: list[Gap | Unseen] = []
        # Of the suite's namespaces: uid → birth and last state of an object that is still there.
        self._present: dict[str, list[Event]] = {}
        self._writes: list[Write] = []
        # Namespace → revision since which all that happens there is kept.
        self._soaking = {soak.namespace: soak.revision for soak in endings.soaks}
        self._soaked: list[Event] = []

    def poll(self) -> None:
        """Take in what was written since the last call."""
        for record in map(JSON_LINES.decode, self.lines(CLUSTER)):
            self._owned.add(owned_namespace(record))
            self._elsewhere.append(record)
        for name in self.namespaces():
            if name not in self._endings.failed:
                take = self._take if name in self._owned else self._elsewhere.append
                for line in self.lines(name):
                    take(JSON_LINES.decode(line))
        self._marks += [s for s in self.signs() if isinstance(s, Gap | Unseen)]

    def _take(self, record: Record) -> None:
        if isinstance(record, Write):
            self._writes.append(record)
        elif isinstance(record, Event):
            obj = record.obj
            if record.revision > self._soaking.get(obj.namespace, record.revision):
                self._soaked.append(record)
            if record.type is EventType.DELETED:
                self._present.pop(obj.uid, None)
            else:
                self._present[obj.uid] = [*self._present.get(obj.uid, ())[:1], record]

    def soaked(self) -> list[Record]:
        """What cases left at rest, and what happened in their namespaces since."""
        since = {soak.namespace: soak.at for soak in self._endings.soaks}
        writes = [w for w in self._writes if w.at >= since.get(w.namespace, w.at + 1) - _NEAR]
        first = min(since.values(), default=0.0)
        gaps = [mark for mark in self._marks if isinstance(mark, Gap) and mark.at >= first]
        return [*self._endings.records, *self._soaked, *writes, *gaps]

    def end_soak(self) -> None:
        """The graphs are deleted now: what happens to them is no longer kept for `soaked`."""
        self._soaking = {}

    def present(self) -> list[Event]:
        """The last event of each object that is there in the suite's namespaces."""
        return [events[-1] for events in self._present.values()]

    def remaining(self, *, since: float, requests: float) -> list[Record]:
        """What the end of a run is judged from, since the time `since`: of namespaces that the suite
        did not make, and of cluster-scoped objects, everything; of the suite's own namespaces what is
        still there and who made it, and all requests after the time `requests`."""
        present = [event for events in self._present.values() for event in events]
        births = {(e[0].obj.namespace, e[0].obj.name): e[0].at for e in self._present.values()}

        def made_it(write: Write) -> bool:
            if write.name:
                return (write.namespace, write.name) in births
            return any(
                namespace == write.namespace and abs(at - write.at) < _NEAR
                for (namespace, _), at in births.items()
            )

        own = [
            write
            for write in self._writes
            if write.at > requests or write.resource == "leases" or made_it(write)
        ]
        elsewhere = [r for r in self._elsewhere if float(getattr(r, "at", 0.0)) >= since]
        marks = [mark for mark in self._marks if isinstance(mark, Unseen) or mark.at >= since]
        return [*elsewhere, *own, *present, *marks]
