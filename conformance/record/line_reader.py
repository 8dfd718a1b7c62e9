"""A file of lines, read while it grows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from conformance.model.errors import InfraError


class LineReader:
    """Each `read` gives the whole lines that came since the last.

    The file may appear later. One that was rotated (the API server's audit log, at 100 MB) is read
    to its end before its successor.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._rest = b""

    def read(self) -> list[bytes]:
        """New whole lines, without their ends. Raises InfraError if the file cannot be read."""
        try:
            if self._file is None:
                self._file = self.path.open("rb", buffering=0)
            data = self._file.read()
            if not data and self._rotated():
                self._file.close()
                self._file = self.path.open("rb", buffering=0)
                data = self._file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InfraError(f"{self.path} cannot be read: {error}") from error
        if not data:
            return []
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line for line in lines if line.strip()]

    def _rotated(self) -> bool:
        assert self._file is not None
        try:
            return os.stat(self.path).st_ino != os.fstat(self._file.fileno()).st_ino
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Close the file; reading again starts over."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._rest = b""
