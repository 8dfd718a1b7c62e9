"""Namespaces that the suite did not make: the operator's own, the platform's, and new ones."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from conformance.model.labels import OWNED
from conformance.record.layout import CLUSTER, RECORDER, LineReader, live_file

_NAMESPACE = b'"kind":"Namespace"'
_OWNED = OWNED.encode()
# A hundred files, and each worker looks: often enough is soon after an object of a new namespace.
_LOOK_SECONDS = 1.0


class Elsewhere:
    """Reads the files of all namespaces but the suite's, each from its beginning, as they appear.

    `but` is left out in any case. A namespace of the suite may be read until its label is on record,
    so whoever reads on must pick what concerns it.
    """

    def __init__(self, directory: Path, *, but: str) -> None:
        self._folder = live_file(directory, "").parent
        self._cluster = LineReader(live_file(directory, ""))
        self._readers: dict[str, LineReader] = {}
        self._looked_at = float("-inf")
        self._owned = {CLUSTER, RECORDER, but}

    def read(self) -> Iterator[bytes]:
        """New whole lines of these files. Raises InfraError if one cannot be read."""
        now = time.monotonic()
        if now - self._looked_at > _LOOK_SECONDS:
            self._looked_at = now
            self._learn()
            for path in self._folder.glob("*.jsonl"):
                if path.stem not in self._owned and path.stem not in self._readers:
                    self._readers[path.stem] = LineReader(path)
        for reader in self._readers.values():
            yield from reader.read()

    def _learn(self) -> None:
        """Which namespaces are the suite's, by their label."""
        for line in self._cluster.read():
            if _NAMESPACE not in line or _OWNED not in line:
                continue
            data = json.loads(line)
            if data["record"] != "event" or data["object"].get("kind") != "Namespace":
                continue
            meta = data["object"]["metadata"]
            if (meta.get("labels") or {}).get(OWNED):
                self._owned.add(meta["name"])
                reader = self._readers.pop(meta["name"], None)
                if reader is not None:
                    reader.close()

    def close(self) -> None:
        """Close the files."""
        for reader in (self._cluster, *self._readers.values()):
            reader.close()
