"""What is on record of one kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.history.records import EventType
from conformance.record.sink import Sink

OnEvent = Callable[[EventType, dict[str, Any]], None]


class KindRecord:
    """Writes each state of each object once, and knows what is there: only that tells, after a second
    list, what has vanished in between. `on_event` is told of each event."""

    def __init__(self, sink: Sink, on_event: OnEvent | None = None) -> None:
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
        if self._on_event is not None:
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
