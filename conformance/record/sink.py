"""Where the recorder writes: one file a namespace, each record on disk before the next is read."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from conformance.history.records import EventType, Gap, Unseen, Write, to_json
from conformance.record.layout import CLUSTER, RECORDER, Heartbeat, live_file
from conformance.record.masking import mask_object, mask_text


class Sink:
    """Appends records to the files of `conformance.record.layout`. Thread-safe.

    `keep_managed_fields`: they name the writers where there is no audit log, and are otherwise the
    bulk of most objects.
    """

    def __init__(self, directory: Path, *, keep_managed_fields: bool) -> None:
        self._directory = directory
        self._keep = keep_managed_fields
        self._files: dict[str, BinaryIO] = {}
        self._lock = threading.Lock()
        (directory / "live").mkdir(parents=True, exist_ok=True)

    def encode(self, obj: dict[str, Any]) -> str:
        """The object as it goes to disk: masked, on one line. Changes the given object."""
        if not self._keep:
            obj["metadata"].pop("managedFields", None)
        return mask_text(json.dumps(mask_object(obj), separators=(",", ":")))

    def event(
        self, *, type_: EventType, revision: int, at: float, namespace: str, encoded: str
    ) -> None:
        """One event of an object from `encode`. The line is put together by hand: the object is
        text already, and turning it into text twice would double the cost."""
        line = (
            f'{{"record":"event","type":"{type_}","revision":{revision},"at":{at:.6f},'
            f'"object":{encoded}}}\n'
        )
        self._append(namespace or CLUSTER, line.encode())

    def write(self, write: Write) -> None:
        """One write of the audit log."""
        self._append(write.namespace or CLUSTER, _line(to_json(write)))

    def gap(self, gap: Gap) -> None:
        """A gap mark. It must be written before whatever follows the gap."""
        self._append(RECORDER, _line(to_json(gap)))

    def unseen(self, mark: Unseen) -> None:
        """A kind that the recorder may not see."""
        self._append(RECORDER, _line(to_json(mark)))

    def recording(self, resource: str, at: float) -> None:
        """A kind was listed and is recorded from now on."""
        self._append(RECORDER, _line({"record": "kind", "at": at, "resource": resource}))

    def heartbeat(self, heartbeat: Heartbeat) -> None:
        """A sign of life."""
        self._append(RECORDER, heartbeat.to_line())

    def forget(self, namespace: str) -> None:
        """Close the file of a namespace that is gone; a run makes hundreds of them."""
        with self._lock:
            file = self._files.pop(namespace, None)
            if file is not None:
                file.close()

    def close(self) -> None:
        """Close every file."""
        with self._lock:
            for file in self._files.values():
                file.close()
            self._files.clear()

    def _append(self, name: str, line: bytes) -> None:
        with self._lock:
            file = self._files.get(name)
            if file is None:
                file = live_file(self._directory, name).open("ab", buffering=0)
                self._files[name] = file
            file.write(line)


def _line(data: Mapping[str, Any]) -> bytes:
    return mask_text(json.dumps(data, separators=(",", ":"))).encode() + b"\n"
