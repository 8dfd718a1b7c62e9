"""The API server's audit log, read as it grows: who wrote what, and what was answered."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.history.records import Write
from conformance.record.line_reader import LineReader

_WRITES = {"create", "update", "patch", "delete", "deletecollection"}
_REASON_LENGTH = 500


class AuditLog:
    """The writes in an audit log, each once, in the order of their answers."""

    def __init__(self, path: Path) -> None:
        self._reader = LineReader(path)

    def read(self) -> list[Write]:
        """Writes answered since the last call. Raises InfraError if the log is unreadable.

        A line that is no JSON (the API server was killed in mid-line) is skipped: it tells nothing.
        """
        writes = []
        for line in self._reader.read():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            write = to_write(entry)
            if write is not None:
                writes.append(write)
        return writes


def to_write(entry: Mapping[str, Any]) -> Write | None:
    """One entry as a record; None for reads, for stages before the answer, and for dry runs, which
    change nothing.

    Who impersonates another is the author still: an operator could else pass for the platform.
    """
    target = entry.get("objectRef") or {}
    if entry.get("stage") != "ResponseComplete" or entry.get("verb") not in _WRITES or not target:
        return None
    if "dryRun=" in str(entry.get("requestURI", "")):
        return None
    resource, name = str(target.get("resource", "")), str(target.get("name") or "")
    # The audit log files a Namespace under itself; the object is cluster-scoped.
    namespace = "" if resource == "namespaces" else str(target.get("namespace") or "")
    status = entry.get("responseStatus") or {}
    author = entry.get("user") or {}
    return Write(
        at=_time(str(entry["stageTimestamp"])),
        received_at=_time(str(entry["requestReceivedTimestamp"])),
        verb=str(entry["verb"]),
        user=str(author.get("username", "")),
        agent=str(entry.get("userAgent", "")),
        group=str(target.get("apiGroup") or ""),
        resource=resource,
        subresource=str(target.get("subresource") or ""),
        namespace=namespace,
        name=name,
        code=int(status.get("code") or 0),
        reason=str(status.get("message") or status.get("reason") or "")[:_REASON_LENGTH],
    )


def _time(stamp: str) -> float:
    return datetime.datetime.fromisoformat(stamp).timestamp()
