"""Where the recorder writes: one file a namespace, each record on disk before the next is read."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from pydantic_core import to_json

from conformance.history.records import JSON_LINES, EventType, Write
from conformance.record.files import CLUSTER, RECORDER, SIGN_LINES, Sign, live_file
from conformance.record.masking import mask_object, mask_text

OnEvent = Callable[[EventType, dict[str, Any]], None]


class Sink:
    """Appends records to their files. Thread-safe. `keep_managed_fields`: they name the writers where
    there is no audit log, and are otherwise the bulk of most objects."""

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
        return mask_text(to_json(mask_object(obj)).decode())

    def event(
        self, type_: EventType, encoded: str, *, revision: int, at: float, namespace: str
    ) -> None:
        """One event of an object from `encode`. The line is put together by hand: the object is
        text already, and turning it into text twice would double the cost."""
        line = (
            f'{{"record":"event","type":"{type_}","revision":{revision},"at":{at:.6f},'
            f'"object":{encoded}}}\n'
        )
        self._append(namespace or CLUSTER, line)

    def write(self, write: Write) -> None:
        """One write of the audit log."""
        self._append(write.namespace or CLUSTER, mask_text(JSON_LINES.encode(write).decode()))

    def sign(self, sign: Sign) -> None:
        """What the recorder says about itself. A gap must be written before whatever follows it."""
        self._append(RECORDER, mask_text(SIGN_LINES.encode(sign).decode()))

    def forget(self, namespace: str) -> None:
        """Close the file of a namespace that is gone; a run makes hundreds of them."""
        with self._lock:
            if namespace in self._files:
                self._files.pop(namespace).close()

    def _append(self, name: str, line: str) -> None:
        with self._lock:
            if name not in self._files:
                self._files[name] = live_file(self._directory, name).open("ab", buffering=0)
            self._files[name].write(line.encode())


class KindRecord:
    """Writes each state of each object of a kind once, and knows what is there: only that tells, after
    a second list, what has vanished in between. `on_event` is told of each event."""

    def __init__(self, sink: Sink, on_event: OnEvent) -> None:
        self._sink = sink
        self._on_event = on_event
        # uid → (revision, namespace, last state as written)
        self._present: dict[str, tuple[int, str, str]] = {}

    def record(self, type_: EventType, obj: dict[str, Any], at: float) -> None:
        """An object as a list or a watch gave it."""
        meta = obj["metadata"]
        uid, revision = str(meta["uid"]), int(meta["resourceVersion"])
        if uid in self._present and self._present[uid][0] >= revision:
            return  # Seen already: the watch went on from a revision before it.
        namespace = str(meta.get("namespace") or "")
        encoded = self._sink.encode(obj)
        if type_ is EventType.DELETED:
            self._present.pop(uid, None)
        else:
            self._present[uid] = (revision, namespace, encoded)
        self._sink.event(type_, encoded, revision=revision, at=at, namespace=namespace)
        self._on_event(type_, obj)

    def keep_only(self, uids: set[str], *, revision: int, at: float) -> None:
        """All other objects are gone without an event: deleted at some revision up to this one, which
        a gap mark must have said."""
        for uid in self._present.keys() - uids:
            _, namespace, encoded = self._present.pop(uid)
            self._sink.event(
                EventType.DELETED, encoded, revision=revision, at=at, namespace=namespace
            )

    def __bool__(self) -> bool:
        return bool(self._present)
