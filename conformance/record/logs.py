"""Logs that others write, read as they grow: the API server's audit log, and the operator's own."""

import contextlib
import datetime
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.history.records import JSON_LINES, OperatorEvent, OperatorEventKind, Write
from conformance.model.crash import is_crash
from conformance.record.files import LineReader
from conformance.record.masking import mask_text

_WRITES = {"create", "update", "patch", "delete", "deletecollection"}
_REASON_LENGTH = 500
_STAMP = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?P<fraction>\.\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)"
)
_LINE_LENGTH = 4000


def audited_writes(lines: Iterable[bytes]) -> Iterator[Write]:
    """The writes among lines of an audit log, each once, in the order of their answers."""
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # The API server was killed in mid-line: it tells nothing.
        write = to_write(entry)
        if write is not None:
            yield write


def to_write(entry: Mapping[str, Any]) -> Write | None:
    """One entry as a record; None if it is no answer yet, or of a read or a dry run. Who impersonates
    another is the author still: an operator could else pass for the platform."""
    target = entry.get("objectRef") or {}
    if entry.get("stage") != "ResponseComplete" or entry.get("verb") not in _WRITES or not target:
        return None
    if "dryRun=" in str(entry.get("requestURI", "")):
        return None
    resource = str(target.get("resource", ""))
    # The audit log files a Namespace under itself; the object is cluster-scoped.
    namespace = "" if resource == "namespaces" else target.get("namespace")
    status = entry.get("responseStatus") or {}
    return Write(
        at=_seconds(entry["stageTimestamp"]),
        received_at=_seconds(entry["requestReceivedTimestamp"]),
        verb=str(entry["verb"]),
        user=str((entry.get("user") or {}).get("username", "")),
        agent=str(entry.get("userAgent", "")),
        group=str(target.get("apiGroup") or ""),
        resource=resource,
        subresource=str(target.get("subresource") or ""),
        namespace=str(namespace or ""),
        name=str(target.get("name") or ""),
        code=int(status.get("code") or 0),
        reason=str(status.get("message") or status.get("reason") or "")[:_REASON_LENGTH],
    )


class OperatorLog:
    """Reads a log file in steps. Times are those of the lines where they carry one, else of the
    reading: call `read` often enough for the precision you want."""

    def __init__(self, path: Path) -> None:
        self._reader = LineReader(path)

    def read(self) -> list[OperatorEvent]:
        """New lines, PANIC if they show a crash. Raises InfraError if the log cannot be read."""
        now = time.time()
        events = []
        for line in self._reader.read():
            text = mask_text(line.decode("utf-8", "replace").rstrip())[:_LINE_LENGTH]
            kind = OperatorEventKind.PANIC if is_crash(text) else OperatorEventKind.LOG
            events.append(OperatorEvent(kind=kind, at=_said_at(text, now), text=text))
        return events


def read_operator_events(path: Path) -> list[OperatorEvent]:
    """What the owner of a cluster has written down of its operator. Raises InfraError."""
    # Its owner may be writing a line just now.
    with contextlib.closing(LineReader(path)) as reader:
        records = map(JSON_LINES.decode, reader.read())
        return [record for record in records if isinstance(record, OperatorEvent)]


def _said_at(text: str, read_at: float) -> float:
    """The line's own time; one in whole seconds is taken as the end of that second, and nothing is
    later than its reading."""
    match = _STAMP.search(text[:200])
    if match is None:
        return read_at
    try:
        at = _seconds(match.group())
    except ValueError:
        return read_at
    return min(read_at, at if match["fraction"] else at + 1.0)


def _seconds(stamp: str) -> float:
    return datetime.datetime.fromisoformat(stamp).timestamp()
