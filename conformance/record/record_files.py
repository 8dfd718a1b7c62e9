"""The files of a record, read while the recorder writes them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from conformance.model.errors import InfraError
from conformance.record.layout import (
    CLUSTER,
    RECORDER,
    SIGN_LINES,
    Heartbeat,
    Sign,
    live_file,
)
from conformance.record.line_reader import LineReader

_POLL_SECONDS = 0.02


class RecordFiles:
    """Gives each line once. Not thread-safe. Methods raise InfraError if a file cannot be read."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._readers: dict[str, LineReader] = {}
        self.heartbeat: Heartbeat | None = None
        """The last one that `signs` came upon."""

    def lines(self, name: str) -> list[bytes]:
        """New lines of a namespace, or of CLUSTER."""
        reader = self._readers.get(name)
        if reader is None:
            reader = self._readers[name] = LineReader(live_file(self._directory, name))
        return reader.read()

    def signs(self) -> list[Sign]:
        """What the recorder has written about itself since the last call."""
        signs = [SIGN_LINES.decode(line) for line in self.lines(RECORDER)]
        beats = [sign for sign in signs if isinstance(sign, Heartbeat)]
        if beats:
            self.heartbeat = beats[-1]
        return signs

    def namespaces(self) -> list[str]:
        """The namespaces of which there is a file."""
        names = (path.stem for path in live_file(self._directory, CLUSTER).parent.glob("*.jsonl"))
        return sorted(name for name in names if name not in (CLUSTER, RECORDER))

    def catch_up(self, poll: Callable[[], object], *, until: float, within: float) -> None:
        """Call `poll`, which reads the signs, until the audit log is known up to `until` (seconds
        since the epoch). Raises InfraError if that takes longer than `within` seconds."""
        end = time.monotonic() + within
        poll()
        while self.heartbeat is None or self.heartbeat.at < until:
            if time.monotonic() > end:
                raise InfraError(
                    f"the recorder is more than {within:g} s behind; it is dead, or the CPU is starved"
                )
            time.sleep(_POLL_SECONDS)
            poll()

    def close(self, name: str | None = None) -> None:
        """Close the file of a namespace, or all of them."""
        for known in [name] if name is not None else list(self._readers):
            reader = self._readers.pop(known, None)
            if reader is not None:
                reader.close()
