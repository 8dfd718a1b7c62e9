"""The recorder: every kind of a control plane, its audit log, and a sign of life.

One process a control plane, so that each event is parsed once and not by every test worker. Plain
threads in it, one a kind: with 12 busy namespaces on 2 loaded cores 65 threads and 68 MB took 4-6 % of
a core, and 3-6 ms (95 %: 90 ms) from the API server's answer to the line on disk.
"""

import gc
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conformance.history.records import EventType
from conformance.kube import Api, Resource, served_by
from conformance.kube.watch import SILENCE_SECONDS
from conformance.model.errors import InfraError
from conformance.model.kinds import UNRECORDED
from conformance.record.files import HEARTBEAT_SECONDS, Heartbeat, LineReader, Ready
from conformance.record.load import LoadWatch
from conformance.record.logs import audited_writes
from conformance.record.sink import Sink
from conformance.record.watcher import RevisionClock, Watcher

READY_SECONDS = 60.0
"""Until every kind was listed once; it takes about a second."""
_AUDIT_SECONDS = 0.05


class Recorder:
    """Records a control plane into a directory until `stop()`. `run()` blocks; it raises InfraError
    if kinds cannot be listed or the record cannot be written."""

    def __init__(
        self,
        *,
        api: Api,
        directory: Path,
        audit_log: Path | None = None,
        users: Mapping[str, str] | None = None,
        silence: float = SILENCE_SECONDS,
        alive: Callable[[], bool] = lambda: True,
    ) -> None:
        """`alive` is asked at each heartbeat; once it says no, the recorder stops by itself."""
        self._api, self._directory = api, directory
        self._users, self._silence, self._alive = dict(users or {}), silence, alive
        self._audit = LineReader(audit_log) if audit_log is not None else None
        self._sink = Sink(directory, keep_managed_fields=audit_log is None)
        self._load = LoadWatch(directory, api)
        self._clock = RevisionClock()
        # Used by the thread that records CRDs, too: each use is one operation, which is atomic.
        self._watchers: dict[tuple[str, str], Watcher] = {}
        self._halt = threading.Event()
        self._ready = False

    def stop(self) -> None:
        """End `run()` soon. May be called from a signal handler."""
        self._halt.set()

    def run(self) -> None:
        """List everything, mark the start of validity, then keep recording."""
        for resource in self._api.discover():
            if resource.kind not in UNRECORDED:
                self._start(resource)
        try:
            self._wait_listed()
            # What the first lists left behind lives as long as the process: not worth collecting.
            gc.collect()
            gc.freeze()
            self._keep()
        finally:
            for watcher in self._all():
                watcher.stop()
            self._beat(stopped=True)

    def _wait_listed(self) -> None:
        end = time.monotonic() + READY_SECONDS
        initial = self._all()
        for watcher in initial:
            while not watcher.listed.wait(HEARTBEAT_SECONDS):
                if self._halt.is_set() or not self._alive():
                    return
                if time.monotonic() > end:
                    raise InfraError(
                        f"the recorder could not list {watcher.resource} within {READY_SECONDS:g} s"
                    )
        self._check()
        seen = [watcher for watcher in initial if not watcher.unseen]
        if not seen:
            raise InfraError(
                "the recorder may not list a single kind; give its user the right to list and watch"
            )
        self._clock.tick()
        self._beat()
        self._ready = True
        Ready(
            revision=max(watcher.list_revision for watcher in seen), at=time.time(),
            kinds=tuple(sorted(str(watcher.resource) for watcher in seen)),
            audited=self._audit is not None, users=self._users,
            unseen={str(w.resource): w.unseen for w in initial if w.unseen},
        ).write(self._directory)  # fmt: skip

    def _keep(self) -> None:
        """Audit log and heartbeat, in one loop: a heartbeat says that the log was read up to it."""
        beat_at = 0.0
        while not self._halt.wait(_AUDIT_SECONDS) and self._alive():
            if time.monotonic() - beat_at < HEARTBEAT_SECONDS:
                self._drain_audit()
                continue
            beat_at = time.monotonic()
            self._check()
            self._clock.tick()
            self._beat()

    def _beat(self, *, stopped: bool = False) -> None:
        at, revision = time.time(), self._clock.revision
        self._drain_audit()
        load = self._load.sign(at)
        if load is not None:
            self._sink.sign(load)
        down = tuple(sorted(w.resource.kind for w in self._all() if not (w.open or w.unseen)))
        self._sink.sign(Heartbeat(at=at, revision=revision, down=down, stopped=stopped))

    def _drain_audit(self) -> None:
        for write in audited_writes(self._audit.read() if self._audit is not None else ()):
            self._sink.write(write)
            self._load.wrote(write)

    def _check(self) -> None:
        for watcher in self._all():
            if watcher.failed:
                raise InfraError(f"the recorder cannot record {watcher.resource}: {watcher.failed}")

    def _all(self) -> list[Watcher]:
        return list(self._watchers.values())

    def _start(self, resource: Resource, late_reason: str = "") -> None:
        watcher = Watcher(
            api=self._api, resource=resource, sink=self._sink, clock=self._clock,
            silence=self._silence, late_reason=late_reason, on_event=self._on_event,
        )  # fmt: skip
        if self._watchers.setdefault((resource.group, resource.plural), watcher) is watcher:
            watcher.start()

    def _on_event(self, type_: EventType, obj: dict[str, Any]) -> None:
        """Kinds come and go with their definitions; discovery would show it seconds later."""
        kind, deleted = obj.get("kind"), type_ is EventType.DELETED
        if kind == "Namespace" and deleted:
            self._sink.forget(str(obj["metadata"]["name"]))
        if kind != "CustomResourceDefinition":
            return
        key = (str(obj["spec"]["group"]), str(obj["spec"]["names"]["plural"]))
        watcher, resource = self._watchers.get(key), served_by(obj)
        if deleted and watcher is not None:
            watcher.retired = True
            del self._watchers[key]
        elif deleted or resource is None or resource.kind in UNRECORDED:
            return
        elif watcher is None:
            late = f"{resource} appeared while recording; what came before its list is unknown"
            self._start(resource, late if self._ready else "")
        elif served_by(obj, watcher.resource.version) is None:
            watcher.resource = resource
