"""Histories on disk: zstandard-compressed JSON lines, the header first (`<case>.jsonl.zst`)."""

import contextlib
import gc
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

from conformance.history.history import History
from conformance.history.records import JSON_LINES, Header, Record
from conformance.history.upgrade import FORMAT, format_of, upgraded
from conformance.model.errors import UsageError

SUFFIX = ".jsonl.zst"
# Higher levels cost ten times the time for a tenth of the size.
_LEVEL = 3


def write(path: Path, history: History) -> None:
    """Store a history; it is there whole or not at all. Raises OSError if it cannot be written,
    ValueError if a record holds anything but plain data."""
    lines = [JSON_LINES.encode(history.header)]
    lines += [JSON_LINES.encode(r) for r in history.records if r is not history.header]
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(compressor.compress(b"".join(lines)))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path) -> History:
    """A stored history. Raises UsageError if the file is missing, cut off, damaged or none."""
    lines = _decompressed(path).splitlines()
    if not lines:
        raise UsageError(f"the history {path} is empty, expected a header and records")
    records: list[Record] = []
    try:
        decode = _decoder(lines[0])
        with _no_collection():
            for line in lines:
                records.append(decode(line))
    except (ValueError, TypeError, AttributeError) as error:
        number = len(records) + 1
        raise UsageError(
            f"line {number} of the history {path} is no record of this version: {error}"
        ) from error
    _header(path, records[0])
    return History(records)


def read_header(path: Path) -> Header:
    """The header of a stored history, read without the rest. Raises UsageError."""
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as unpacked:
            line = io.BufferedReader(unpacked).readline()
        return _header(path, _decoder(line)(line))
    except (OSError, zstandard.ZstdError, ValueError) as error:
        raise UsageError(f"the history {path} has no header that can be read: {error}") from error


def _decoder(header: bytes) -> Callable[[bytes], Record]:
    """What reads the lines of a history with this first line."""
    if format_of(json.loads(header)) == FORMAT:
        return JSON_LINES.decode
    return lambda line: JSON_LINES.from_data(upgraded(json.loads(line)))


def _header(path: Path, record: Record) -> Header:
    if not isinstance(record, Header):
        raise UsageError(f"the history {path} starts with a {record.record}, expected its header")
    return record


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Reading makes no cycles, but so many objects that the garbage collector would take half of the
    time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
