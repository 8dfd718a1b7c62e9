"""Histories on disk: zstandard-compressed JSON lines, the header first (`<case>.jsonl.zst`)."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import zstandard

from conformance.history.history import History
from conformance.history.records import Header, Record, from_json, to_json
from conformance.history.upgrade import upgraded
from conformance.model.errors import UsageError

SUFFIX = ".jsonl.zst"
# Higher levels cost ten times the time for a tenth of the size.
_LEVEL = 3


def write(path: Path, history: History) -> None:
    """Store a history; it is there whole or not at all. Raises OSError if it cannot be written,
    TypeError if a record holds what is no plain data."""
    records = [history.header, *(r for r in history.records if r is not history.header)]
    lines = "".join(
        json.dumps(to_json(record), separators=(",", ":"), default=_plain) + "\n"
        for record in records
    )
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(compressor.compress(lines.encode()))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path) -> History:
    """A stored history. Raises UsageError if the file is missing, cut off, damaged or none."""
    return History(_records(path, _decompressed(path)))


def read_header(path: Path) -> Header:
    """The header of a stored history alone, which is read without the rest. Raises UsageError."""
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as packed:
            line = io.TextIOWrapper(packed, encoding="utf-8").readline()
        record = from_json(upgraded(json.loads(line)))
    except (OSError, zstandard.ZstdError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"the history {path} has no header that can be read: {error}") from error
    if not isinstance(record, Header):
        raise UsageError(f"the history {path} starts with a {record.record}, expected its header")
    return record


def _decompressed(path: Path) -> bytes:
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise UsageError(f"the history {path} cannot be read: {error.strerror or error}") from error
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    try:
        data = unpacker.decompress(packed)
    except zstandard.ZstdError as error:
        raise UsageError(
            f"the history {path} is damaged or no zstandard file ({error}); run the case again"
        ) from error
    if not unpacker.eof or unpacker.unused_data:
        what = "goes on after its end" if unpacker.eof else "is cut off"
        raise UsageError(f"the history {path} {what}; expected one whole file, run the case again")
    return data


def _records(path: Path, data: bytes) -> list[Record]:
    records: list[Record] = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            records.append(from_json(upgraded(json.loads(line))))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(
                f"line {number} of the history {path} is no record of this version: {error}"
            ) from error
        if number == 1 and not isinstance(records[0], Header):
            found = records[0].record
            raise UsageError(f"the history {path} starts with a {found}, expected its header")
    if not records:
        raise UsageError(f"the history {path} is empty, expected a header and records")
    return records


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a record holds a {type(value).__name__}, expected plain data")
