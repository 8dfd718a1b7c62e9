"""The live record of a whole cluster, read as it grows: for the end of a run, when all cases are over.

Of the suite's own namespaces, a hundred megabytes in a long run, only what is still there is kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.history.records import Event, EventType, Gap, Record, Unseen, Write, from_json
from conformance.model.errors import InfraError
from conformance.model.labels import OWNED
from conformance.record.layout import CLUSTER, RECORDER, Heartbeat, LineReader, live_file
from conformance.record.soak import Ended

_POLL_SECONDS = 0.05
# A request may be answered this long (s) before or after the event that shows what it did is seen.
_NEAR = 5.0


class WholeRecord:
    """Reads every file of a cluster's record; namespaces of cases that did not conform are left out.
    Not thread-safe. Raises InfraError from any method if a file cannot be read."""

    def __init__(self, directory: Path, ended: Ended) -> None:
        self._directory = directory
        self._ended = ended
        self._readers: dict[str, LineReader] = {}
        self._owned: set[str] = set()
        self._elsewhere: list[Record] = []
        self._signs: list[Gap | Unseen] = []
        self._heartbeat: Heartbeat | None = None
        # Of the suite's namespaces: uid → birth and last state of an object that is still there.
        self._alive: dict[str, list[Event]] = {}
        self._writes: list[Write] = []
        # Namespace → revision since which all that happens there is kept.
        self._standing = {row.namespace: row.revision for row in ended.soaks}
        self._later: list[Event] = []

    def close(self) -> None:
        """Close the files."""
        for reader in self._readers.values():
            reader.close()

    def poll(self) -> None:
        """Take in what was written since the last call."""
        for data in self._lines(CLUSTER):
            record = from_json(data)
            if isinstance(record, Event) and _is_owned(record):
                self._owned.add(record.obj.name)
            self._elsewhere.append(record)
        for path in sorted(live_file(self._directory, "").parent.glob("*.jsonl")):
            name = path.stem
            if name in self._ended.others or name in (CLUSTER, RECORDER):
                continue
            for data in self._lines(name):
                record = from_json(data)
                if name in self._owned:
                    self._take(record)
                else:
                    self._elsewhere.append(record)
        for data in self._lines(RECORDER):
            if data["record"] == "heartbeat":
                self._heartbeat = Heartbeat.from_data(data)
            elif data["record"] in (Unseen.record, Gap.record):
                sign = from_json(data)
                assert isinstance(sign, Gap | Unseen)
                self._signs.append(sign)

    def _take(self, record: Record) -> None:
        if isinstance(record, Write):
            self._writes.append(record)
        elif isinstance(record, Event):
            obj = record.obj
            since = self._standing.get(obj.namespace)
            if since is not None and record.revision > since:
                self._later.append(record)
            if record.type is EventType.DELETED:
                self._alive.pop(obj.uid, None)
                return
            seen = self._alive.setdefault(obj.uid, [])
            del seen[1:]
            seen.append(record)

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        reader = self._readers.get(name)
        if reader is None:
            namespace = "" if name == CLUSTER else name
            reader = self._readers[name] = LineReader(live_file(self._directory, namespace))
        for line in reader.read():
            yield json.loads(line)

    def catch_up(self, *, within: float) -> None:
        """Poll until everything up to now is known, the audit log included. Raises InfraError if the
        recorder takes longer than `within` seconds."""
        now, end = time.time(), time.monotonic() + within
        self.poll()
        while self._heartbeat is None or self._heartbeat.at < now:
            if time.monotonic() > end:
                raise InfraError(
                    f"the recorder is more than {within:g} s behind at the end of the run; it is "
                    "dead, or the CPU is starved"
                )
            time.sleep(_POLL_SECONDS)
            self.poll()

    # What stands --------------------------------------------------------------------------------

    def soaks(self) -> list[Record]:
        """What cases left at rest, and what happened in their namespaces since."""
        since = {row.namespace: row.at for row in self._ended.soaks}
        writes = [w for w in self._writes if w.at >= since.get(w.namespace, w.at + 1) - _NEAR]
        first = min(since.values(), default=0.0)
        signs = [sign for sign in self._signs if isinstance(sign, Gap) and sign.at >= first]
        return [*self._ended.records, *self._later, *writes, *signs]

    def let_fall(self) -> None:
        """What stands is deleted now: what happens to it is no longer kept for `soaks`."""
        self._standing = {}

    # What is left -------------------------------------------------------------------------------

    def alive(self) -> list[Event]:
        """The last event of each object that is there in the suite's namespaces."""
        return [events[-1] for events in self._alive.values()]

    def left(self, *, since: float, requests: float) -> list[Record]:
        """What the end of a run is judged from, since the time `since`: of namespaces that the suite
        did not make, and of cluster-scoped objects, everything; of the suite's own namespaces what is
        still there and who made it, and all requests after the time `requests`."""
        births = {
            (events[0].obj.namespace, events[0].obj.name): events[0].at
            for events in self._alive.values()
        }
        nameless = [(namespace, at) for (namespace, _), at in births.items()]
        own = [
            write
            for write in self._writes
            if write.at > requests
            or write.resource == "leases"
            or (write.namespace, write.name) in births
            or (
                not write.name
                and any(n == write.namespace and abs(at - write.at) < _NEAR for n, at in nameless)
            )
        ]
        elsewhere = [record for record in self._elsewhere if _at(record) >= since]
        alive = [event for events in self._alive.values() for event in events]
        signs = [sign for sign in self._signs if isinstance(sign, Unseen) or sign.at >= since]
        return [*elsewhere, *own, *alive, *signs]


def _is_owned(event: Event) -> bool:
    return event.obj.kind == "Namespace" and bool(event.obj.labels.get(OWNED))


def _at(record: Record) -> float:
    return float(getattr(record, "at", 0.0))
