"""The operator's log as it grows: its lines as records, and crashes among them."""

from __future__ import annotations

import contextlib
import datetime
import re
import time
from pathlib import Path

from conformance.history.records import JSON_LINES, OperatorEvent, OperatorEventKind
from conformance.model.crash import is_crash
from conformance.record.line_reader import LineReader
from conformance.record.masking import mask_text

_STAMP = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?P<fraction>\.\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)"
)
_LINE_LENGTH = 4000


class OperatorLog:
    """Reads a log file in steps. Times are those of the lines where they carry one, else of the
    reading: call `read` often enough for the precision you want."""

    def __init__(self, path: Path) -> None:
        self._reader = LineReader(path)

    def read(self) -> list[OperatorEvent]:
        """New lines, each LOG, or PANIC if it shows a crash. Raises InfraError if the log cannot be
        read."""
        now = time.time()
        events = []
        for line in self._reader.read():
            text = mask_text(line.decode("utf-8", "replace").rstrip())[:_LINE_LENGTH]
            kind = OperatorEventKind.PANIC if is_crash(text) else OperatorEventKind.LOG
            events.append(OperatorEvent(kind=kind, at=_time(text, now), text=text))
        return events


def read_operator_events(path: Path) -> list[OperatorEvent]:
    """What the owner of a cluster has written down of its operator: starts, exits and the like. Raises
    InfraError if the file cannot be read."""
    # Its owner may be writing a line just now.
    with contextlib.closing(LineReader(path)) as reader:
        records = map(JSON_LINES.decode, reader.read())
        return [record for record in records if isinstance(record, OperatorEvent)]


def _time(text: str, read_at: float) -> float:
    """The line's own time; one in whole seconds is taken as the end of that second, and nothing is
    later than its reading."""
    match = _STAMP.search(text[:200])
    if match is None:
        return read_at
    try:
        at = datetime.datetime.fromisoformat(match.group()).timestamp()
    except ValueError:
        return read_at
    return min(read_at, at if match["fraction"] else at + 1.0)
