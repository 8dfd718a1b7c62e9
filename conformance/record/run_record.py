"""The live record of a whole cluster, read as it grows: for the end of a run, when all cases are over.

Of the suite's own namespaces, a hundred megabytes in a long run, only what is still there is kept.
"""

from __future__ import annotations

import time
from pathlib import Path

from conformance.history.records import JSON_LINES, Event, EventType, Gap, Record, Unseen, Write
from conformance.record.elsewhere import owned_namespace
from conformance.record.endings import Endings
from conformance.record.layout import CLUSTER
from conformance.record.reading import RecordFiles

# A request may be answered this long (s) before or after the event that shows what it did is seen.
_NEAR = 5.0


class RunRecord:
    """Reads every file of a cluster's record; namespaces of cases that did not conform are left out.
    Not thread-safe. Raises InfraError from any method if a file cannot be read."""

    def __init__(self, directory: Path, endings: Endings) -> None:
        self._endings = endings
        self._files = RecordFiles(directory)
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

    def close(self) -> None:
        """Close the files."""
        self._files.close()

    def poll(self) -> None:
        """Take in what was written since the last call."""
        for line in self._files.lines(CLUSTER):
            record = JSON_LINES.decode(line)
            self._owned.add(owned_namespace(record))
            self._elsewhere.append(record)
        for name in self._files.namespaces():
            if name in self._endings.failed:
                continue
            for line in self._files.lines(name):
                record = JSON_LINES.decode(line)
                if name in self._owned:
                    self._take(record)
                else:
                    self._elsewhere.append(record)
        self._marks += [s for s in self._files.signs() if isinstance(s, Gap | Unseen)]

    def _take(self, record: Record) -> None:
        if isinstance(record, Write):
            self._writes.append(record)
        elif isinstance(record, Event):
            obj = record.obj
            since = self._soaking.get(obj.namespace)
            if since is not None and record.revision > since:
                self._soaked.append(record)
            if record.type is EventType.DELETED:
                self._present.pop(obj.uid, None)
                return
            seen = self._present.setdefault(obj.uid, [])
            del seen[1:]
            seen.append(record)

    def catch_up(self, *, within: float) -> None:
        """Poll until everything up to now is known, the audit log included. Raises InfraError if the
        recorder takes longer than `within` seconds."""
        self._files.catch_up(self.poll, until=time.time(), within=within)

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
        births = {
            (events[0].obj.namespace, events[0].obj.name): events[0].at
            for events in self._present.values()
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
        present = [event for events in self._present.values() for event in events]
        marks = [mark for mark in self._marks if isinstance(mark, Unseen) or mark.at >= since]
        return [*elsewhere, *own, *present, *marks]


def _at(record: Record) -> float:
    return float(getattr(record, "at", 0.0))
