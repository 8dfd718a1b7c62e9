"""Namespaces that the suite did not make: the operator's own, the platform's, and new ones."""

from __future__ import annotations

import time
from collections.abc import Iterator

from conformance.history.records import JSON_LINES, Event, Record
from conformance.model.labels import OWNED
from conformance.record.record_files import RecordFiles

_NAMESPACE = b'"kind":"Namespace"'
_OWNED = OWNED.encode()
# A hundred files, and each worker looks: often enough is soon after an object of a new namespace.
_LOOK_SECONDS = 1.0


def owned_namespace(record: Record) -> str:
    """The namespace that this record shows to be the suite's, by its label; else empty."""
    if (
        isinstance(record, Event)
        and record.obj.kind == "Namespace"
        and record.obj.labels.get(OWNED)
    ):
        return record.obj.name
    return ""


class OtherNamespaces:
    """Reads the files of all namespaces but the suite's, each from its beginning, as they appear.

    `case` is left out in any case. A namespace of the suite may be read until its label is on record,
    so whoever reads on must pick what concerns it.
    """

    def __init__(self, files: RecordFiles, *, case: str) -> None:
        self._files = files
        self._owned = {case}
        self._names: set[str] = set()
        self._looked_at = float("-inf")

    def learn(self, line: bytes) -> None:
        """Take in a line of a cluster-scoped object: it may be the label of one of the suite's."""
        if _NAMESPACE in line and _OWNED in line:
            name = owned_namespace(JSON_LINES.decode(line))
            if name and name not in self._owned:
                self._owned.add(name)
                self._files.close(name)

    def read(self) -> Iterator[bytes]:
        """New lines of these files. Raises InfraError if one cannot be read."""
        now = time.monotonic()
        if now - self._looked_at > _LOOK_SECONDS:
            self._looked_at = now
            self._names.update(self._files.namespaces())
        self._names -= self._owned
        for name in sorted(self._names):
            yield from self._files.lines(name)
