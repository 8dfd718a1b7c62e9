"""The operator's log as it grows: its lines as records, and crashes among them."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import time
from pathlib import Path

from conformance.history.records import OperatorEvent, OperatorEventKind, from_json
from conformance.record.layout import LineReader
from conformance.record.masking import mask_text

# The Go runtime writes the first two at the start of a line; controller-runtime logs the third when
# it recovers from a panic of a reconciler, which then goes on as if nothing had happened.
_PANIC = re.compile(r"^(?:panic: |fatal error: |\[signal SIG)|Observed a panic")
_TRACEBACK = "Traceback (most recent call last)"
_STAMP = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?P<fraction>\.\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)"
)
_LINE_LENGTH = 4000


class OperatorLog:
    """Reads a log file in steps. Times are those of the lines where they carry one, else of the
    reading: call `read` often enough for the precision you want."""

    def __init__(self, path: Path) -> None:
        self._reader = LineReader(path)
        self._traceback: OperatorEvent | None = None

    def read(self, *, exited: bool = False) -> list[OperatorEvent]:
        """New lines, each LOG or PANIC. `exited`: the process has ended, so a Python traceback seen
        last was one that nobody caught. Raises InfraError if the log cannot be read."""
        now = time.time()
        events = []
        for line in self._reader.read():
            text = mask_text(line.decode("utf-8", "replace").rstrip())[:_LINE_LENGTH]
            panic = _PANIC.search(text) is not None
            kind = OperatorEventKind.PANIC if panic else OperatorEventKind.LOG
            event = OperatorEvent(kind=kind, at=_time(text, now), text=text)
            events.append(event)
            if text.startswith(_TRACEBACK):
                self._traceback = event
            elif self._traceback is not None and _ends_traceback(text):
                self._traceback = None
        if exited and self._traceback is not None:
            crash = self._traceback
            self._traceback = None
            events.append(OperatorEvent(kind=OperatorEventKind.PANIC, at=crash.at, text=crash.text))
        return events

    def close(self) -> None:
        """Close the file."""
        self._reader.close()


def noted(path: Path) -> list[OperatorEvent]:
    """What the owner of a cluster noted there of its operator: starts, exits and the like. Raises
    InfraError if the file cannot be read."""
    events: list[OperatorEvent] = []
    # Its owner may be writing a line just now.
    with contextlib.closing(LineReader(path)) as reader:
        for line in reader.read():
            event = from_json(json.loads(line))
            if isinstance(event, OperatorEvent):
                events.append(event)
    return events


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


def _ends_traceback(text: str) -> bool:
    """A line with its own time stamp: the program lives on after the traceback."""
    return _STAMP.match(text) is not None or text.startswith("{")
