"""Files of lines, read while others write them: one, and those of a record."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from conformance.model.errors import InfraError
from conformance.record.layout import CLUSTER, RECORDER, SIGN_LINES, Heartbeat, Sign, live_file

POLL_SECONDS = 0.02
"""Between two looks at what the recorder writes."""


class LineReader:
    """Each `read` gives the whole lines that came since the last.

    The file may appear later. One that was rotated (the API server's audit log, at 100 MB) is read
    to its end before its successor.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._rest = b""

    def read(self) -> list[bytes]:
        """New whole lines, without their ends. Raises InfraError if the file cannot be read."""
        try:
            data = self._file.read() if self._file is not None else b""
            if not data and not self._is_current():
                self.close()
                self._file = self._path.open("rb", buffering=0)
                data = self._file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InfraError(f"{self._path} cannot be read: {error}") from error
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line for line in lines if line.strip()]

    def _is_current(self) -> bool:
        return self._file is not None and os.path.samestat(
            self._path.stat(), os.fstat(self._file.fileno())
        )

    def close(self) -> None:
        """Close the file; reading again starts over."""
        if self._file is not None:
            self._file.close()
        self._file, self._rest = None, b""


class RecordFiles:
    """The files of a record; each line comes once. Not thread-safe. Methods raise InfraError if a
    file cannot be read."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._readers: dict[str, LineReader] = {}
        self.heartbeat: Heartbeat | None = None
        """The last one that `signs` came upon."""

    def lines(self, name: str) -> list[bytes]:
        """New lines of a namespace, or of CLUSTER."""
        if name not in self._readers:
            self._readers[name] = LineReader(live_file(self._directory, name))
        return self._readers[name].read()

    def signs(self) -> list[Sign]:
        """What the recorder has written about itself since the last call."""
        signs = [SIGN_LINES.decode(line) for line in self.lines(RECORDER)]
        for sign in signs:
            if isinstance(sign, Heartbeat):
                self.heartbeat = sign
        return signs

    def namespaces(self) -> list[str]:
        """The namespaces of which there is a file."""
        files = live_file(self._directory, CLUSTER).parent.glob("*.jsonl")
        return sorted({path.stem for path in files} - {CLUSTER, RECORDER})

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
            time.sleep(POLL_SECONDS)
            poll()

    def forget(self, name: str) -> None:
        """Close the file of a namespace that is no longer read."""
        if name in self._readers:
            self._readers.pop(name).close()

    def close(self) -> None:
        """Close all files."""
        for name in list(self._readers):
            self.forget(name)
