"""What the suite itself did in a case, on disk at once: a killed run leaves its story behind."""

import threading
from pathlib import Path

from conformance.history.records import JSON_LINES, Record
from conformance.model.errors import InfraError
from conformance.record.masking import mask_line


class Journal:
    """Appends records (Step, Checkpoint, OperatorEvent, Foreign, Fresh, Tables) of one case to a file.
    Thread-safe. Raises InfraError if the file cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: list[Record] = []
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab")
        except OSError as error:
            raise InfraError(f"the journal {path} cannot be written: {error}") from error

    @property
    def records(self) -> list[Record]:
        """What was appended so far, in order."""
        with self._lock:
            return list(self._records)

    def append(self, record: Record) -> None:
        """Write one record and keep it, both masked: what is kept goes into the stored history."""
        line = mask_line(JSON_LINES.encode(record))
        with self._lock:
            self._records.append(JSON_LINES.decode(line))
            try:
                self._file.write(line)
                self._file.flush()
            except (OSError, ValueError) as error:
                raise InfraError(f"the journal {self.path} cannot be written: {error}") from error

    def close(self) -> None:
        """Close the file; `records` stay."""
        with self._lock:
            self._file.close()
