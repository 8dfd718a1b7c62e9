"""A recorder in a thread, and records written by hand."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from conformance.history.records import JSON_LINES, Event, EventType, Gap, Unseen
from conformance.record.files import (
    RECORDER,
    SIGN_LINES,
    Heartbeat,
    Ready,
    RecordFiles,
    Sign,
    live_file,
)
from conformance.record.recorder import Recorder
from conformance.record.sink import Sink
from tests.kube.fake_api import FakeApi

Raw = dict[str, Any]
QUIET = 30.0


@contextlib.contextmanager
def recording(
    fake: FakeApi,
    directory: Path,
    *,
    audit_log: Path | None = None,
    silence: float = QUIET,
) -> Iterator[Path]:
    """Where a running recorder writes, from when it is ready."""
    out = directory / "record"
    recorder = Recorder(
        api=fake.api(directory), directory=out, audit_log=audit_log, silence=silence
    )
    thread = threading.Thread(target=recorder.run, daemon=True)
    thread.start()
    until(lambda: Ready.read(out) is not None)
    try:
        yield out
    finally:
        recorder.stop()
        thread.join(5)
        assert not thread.is_alive()


def until(condition: Callable[[], Any], within: float = 5.0) -> None:
    """Wait for something that must happen."""
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def events(directory: Path, namespace: str) -> list[Event]:
    """The recorded events of a namespace (empty: cluster-scoped)."""
    records = [JSON_LINES.from_data(row) for row in rows(directory, namespace)]
    return [record for record in records if isinstance(record, Event)]


def seen(directory: Path, namespace: str) -> list[tuple[str, str, int]]:
    """(type, name, revision) of each event of a namespace."""
    return [(str(e.type), e.obj.name, e.revision) for e in events(directory, namespace)]


def gaps(directory: Path) -> list[Gap]:
    """The gap marks."""
    return [sign for sign in signs(directory) if isinstance(sign, Gap)]


def heartbeats(directory: Path) -> list[Heartbeat]:
    """The signs of life."""
    return [sign for sign in signs(directory) if isinstance(sign, Heartbeat)]


def signs(directory: Path) -> list[Sign]:
    """What the recorder wrote about itself."""
    return [SIGN_LINES.from_data(row) for row in rows(directory, RECORDER)]


def rows(directory: Path, namespace: str) -> list[Raw]:
    """All whole lines of a file."""
    path = live_file(directory, namespace)
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if "\n" in line]


class Writer:
    """Records written as the recorder writes them, without one."""

    def __init__(self, directory: Path) -> None:
        self.sink = Sink(directory, keep_managed_fields=False)

    def event(
        self, type_: EventType, obj: Raw, *, revision: int | None = None, at: float | None = None
    ) -> None:
        meta = obj["metadata"]
        self.sink.event(
            type_,
            self.sink.encode(json.loads(json.dumps(obj))),
            revision=int(meta["resourceVersion"]) if revision is None else revision,
            at=time.time() if at is None else at,
            namespace=meta.get("namespace", ""),
        )

    def beat(self, *, at: float | None = None, revision: int = 0, stopped: bool = False) -> None:
        at = time.time() if at is None else at
        self.sink.sign(Heartbeat(at=at, revision=revision, stopped=stopped))


def an_object(
    kind: str, name: str, revision: int, *, namespace: str = "case-1", uid: str = "", **fields: Any
) -> Raw:
    """A bare object as the API gives it."""
    versions = {"Deployment": "apps/v1", "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1"}
    meta: Raw = {
        "name": name,
        "uid": uid or f"{kind}/{name}",
        "resourceVersion": str(revision),
        **fields.pop("metadata", {}),
    }
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": versions.get(kind, "v1"), "kind": kind, "metadata": meta, **fields}


def unseen_kinds(directory: Path) -> list[Unseen]:
    """What a recorder that writes (or wrote) into `directory` may not see, as far as it is known."""
    with contextlib.closing(RecordFiles(directory)) as files:
        return [sign for sign in files.signs() if isinstance(sign, Unseen)]
