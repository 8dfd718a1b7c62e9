"""What the suite itself did in a case, on disk at once: a killed run leaves its story behind."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import TracebackType

from conformance.history.records import Record, from_json, to_json
from conformance.model.errors import InfraError
from conformance.record.masking import mask_nested, mask_text


class Journal:
    """Appends records (Step, Checkpoint, OperatorEvent, Foreign, Fresh, Tables) of one case to a file.
    Thread-safe. Raises InfraError if the file cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: list[Record] = []
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise InfraError(f"the journal {path} cannot be written: {error}") from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def records(self) -> list[Record]:
        """What was appended so far, in order."""
        with self._lock:
            return list(self._records)

    def append(self, record: Record) -> None:
        """Write one record and keep it, both masked: what is kept goes into the stored history."""
        data = mask_nested(to_json(record))
        line = mask_text(json.dumps(data, separators=(",", ":")))
        with self._lock:
            self._records.append(from_json(json.loads(line)))
            try:
                self._file.write(line + "\n")
                self._file.flush()
            except (OSError, ValueError) as error:
                raise InfraError(f"the journal {self.path} cannot be written: {error}") from error

    def close(self) -> None:
        """Close the file; `records` stay."""
        with self._lock:
            self._file.close()
